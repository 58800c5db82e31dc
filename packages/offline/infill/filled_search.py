"""Search with a model: what it fills in is judged by the tests, and what passes by how natural the model finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice

from agent.model.infill.filler import LONGEST_EXTRA, Filler
from packages.offline.infill.filled_statements import iterate_filled_templates
from packages.offline.infill.naturalness import measure_candidate
from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch
from packages.offline.repair.engine.patch_search import PatchSearch
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import Hints
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledSearch:
    """What a model adds to the search for one fault. beside: the failing tests' file, which it is shown"""

    filler: Filler
    beside: Sequence[tuple[str, str]]

    async def measure(self, candidate: Candidate) -> float | None:
        """Return how much likelier the model finds a change's new lines than the old ones; None if it does not say."""
        return await measure_candidate(self.filler, candidate, self.beside)

    async def improve(
        self,
        before: PatchSearch,
        found: PlausiblePatch | None,
        make_search: Callable[[str, float], PatchSearch],
        suspects: Sequence[Suspect],
        hints: Hints,
        candidates: Iterator[Candidate],
        until: float,
        between: float,
    ) -> tuple[PatchSearch, PlausiblePatch | None]:
        """Return a better change than the one that a search has found, with the search that found it; else that one.

        make_search: returns a search with a name and a deadline; each round of fillings has one of its own
        candidates: those that the search has not tried, which are tried after the fillings if it found nothing
        until: the end of it all; between: seconds for the fillings where there are such candidates
        """
        clock, tried = before.replies.clock, before.tried
        untried = list(islice(candidates, 1)) if found is None else []
        end = min(until, clock.now() + between) if untried else until
        self.filler.fit_to(clock.to_wall_seconds(end - clock.now()))
        search = make_search("filled", end)
        search.on_progress("searching: what the model fills in at the likeliest places")
        filled: PlausiblePatch | None = None
        asked = time.monotonic()
        async for template in iterate_filled_templates(
            self.filler,
            suspects,
            search.sources,
            self.beside,
            lambda: clock.to_wall_seconds(end - clock.now()),
        ):
            clock.add_waited_seconds(time.monotonic() - asked)
            search = make_search(f"filled{tried}", end)
            ordered = generate_candidates(suspects, search.sources, hints, fitted=False, templates=[template])
            filled = await search.try_single_changes(ordered)
            search.tried = tried = tried + search.tried
            if filled is not None and (found is None or filled.preference < found.preference):
                search.others += [] if found is None else [found, *before.others]
                return search, filled
            asked = time.monotonic()
        clock.add_waited_seconds(time.monotonic() - asked)
        before.tried = tried
        return before, found or await before.find_further(chain(untried, candidates), until)


def read_test_file(
    tests: Iterable[tuple[str, str]], read_text: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return path and text of the first test file that can be read, for the model to see; none if none can.

    Of a file that is longer than what the model is sent, the part that begins with the failing test.
    tests: file and id of each failing test
    """
    for path, name in tests:
        with suppress(OSError, ValueError):  # tests that come from no file
            text = read_text(path)
            function = name.rpartition("::")[2].partition("[")[0]
            place = text.find(f"def {function}(") if len(text) > LONGEST_EXTRA else -1
            return [(path, text[text.rfind("\n", 0, place) + 1 :] if place > 0 else text)]
    return []
