"""Changes in other languages than Python that fix a test and break none, and which of them comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from agent.model.infill.filler import Filler
from packages.offline.repair.engine.candidates.ranking import MEASURING, MOST_MEASURED, TIERS, UNNATURAL
from packages.offline.repair.languages.tree_candidates import Candidate
from sandbox.lazy_dataclass import dataclass
from tools.testing.report import TestReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibleChange:
    """A candidate that fixes a test and breaks none. helped: ids of the tests that pass with it

    naturalness: as of `ranking.PlausiblePatch`
    """

    candidate: Candidate
    helped: frozenset[str]
    report: TestReport
    naturalness: float | None = None

    @property
    def preference(self) -> tuple[int, float, int, int, int]:
        tier = sum(self.candidate.rule.precision < step for step in TIERS)
        natural = UNNATURAL if self.naturalness is None else self.naturalness
        return -len(self.helped), -natural, tier, self.candidate.size, self.candidate.rank


async def measure_changes(
    filler: Filler, good: Sequence[PlausibleChange], seconds: float
) -> list[PlausibleChange]:
    """Return the changes with the model's word on the best of them, as far as the seconds suffice."""
    from packages.offline.infill.naturalness import measure_texts

    ranked = sorted(good, key=lambda each: each.preference)
    with suppress(TimeoutError):
        async with asyncio.timeout(min(seconds, MEASURING)):
            for place, each in enumerate(ranked[:MOST_MEASURED]):
                told = await measure_texts(filler, each.candidate.doubt.code.text, each.candidate.after)
                ranked[place] = replace(each, naturalness=told)
    return ranked
