"""Levels of evidence that need no model: checks, verdicts, behaviour, static signs, size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from agent.verify.verdict import Evidence, Verdict
from packages.search.select.agreement import (
    BehaviourTable,
    GeneratedTest,
    Group,
    form_groups,
    keep_discriminating,
)
from packages.search.select.selection import Rating
from packages.search.select.static_signs import StaticSigns
from sandbox.lazy_dataclass import dataclass

CALIBRATION: Sequence[tuple[float, float]] = (
    (0.0, 0.1),
    (0.1, 0.2),
    (0.2, 0.4),
    (0.3, 0.57),
    (0.6, 0.7),
    (0.9, 0.8),
    (1.0, 0.95),
)
"""(share of the best group's score, share of right choices), as measured on programs of a model with its tests."""

_PASSED, _FAILED = 1e9, -1e9
"""Values of verdicts: far apart, so that no progress of one leads past the next."""

STATIC_CONFIDENCE = 0.4
"""Share of right choices by static signs alone, among patches of which some are right and some wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLevel:
    """Verdicts of one verifier on each candidate.

    progress: how far each has come, where known, higher is better: it orders those that fail, or are unknown
    confidence: that one which passes is right, where others do not pass; None if this level says nothing of that
    caution: why it says nothing of any, which makes a choice by what is left less sure
    """

    name: str
    verdicts: Sequence[Verdict]
    progress: Sequence[float] = ()
    evidence: Evidence = "executed"
    confidence: float | None = None
    caution: str = ""

    async def rate(self, members: Sequence[int]) -> Rating | None:
        """See `Level.rate`. A candidate that fails executed checks is refused."""
        values = {each: self._compute_value(each) for each in members}
        outcomes = {self.verdicts[each].outcome for each in members}
        if outcomes == {"unknown"} and len(set(values.values())) == 1 and not self.caution:
            return None
        refused = {each for each in members if self.verdicts[each].is_failure and self.evidence == "executed"}
        details = {each: self.verdicts[each].detail or self.verdicts[each].outcome for each in members}
        tells_apart = len(set(values.values())) > 1 and len(refused) < len(members)
        return Rating(
            values=values,
            details=details,
            confidence=self.confidence if tells_apart else None,
            refused=frozenset(refused),
            caution=self.caution,
        )

    def _compute_value(self, number: int) -> float:
        """Return the value of a candidate: those that pass before unknown ones, and these before those that fail."""
        outcome = self.verdicts[number].outcome
        progress = self.progress[number] if self.progress else 0.0
        if outcome == "pass":
            return _PASSED
        return (0.0 if outcome == "unknown" else _FAILED) + progress


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourLevel:
    """Groups of candidates by results, weighted by generated tests. unread: see `form_groups`"""

    table: BehaviourTable
    tests: Sequence[GeneratedTest] = ()
    unread: Sequence[float] = ()
    name: str = "behaviour"
    evidence: Evidence = "executed"

    def list_groups(self, members: Sequence[int]) -> list[Group]:
        """Return the groups of the members, the best first."""
        return form_groups(self.table, self.tests, members, dict(enumerate(self.unread)))

    async def rate(self, members: Sequence[int]) -> Rating | None:
        """See `Level.rate`."""
        if not self.table.calls:
            return None
        groups = self.list_groups(members)
        kept = len(keep_discriminating(self.tests, members))
        values: dict[int, float] = {}
        details: dict[int, str] = {}
        for group in groups:
            for each in group.members:
                values[each] = group.score
                alike = self.table.count_alike(each, members)
                details[each] = _describe_group(group, alike, kept, len(members))
        note = f"{len(self.table.calls)} inputs; {kept} of {len(self.tests)} generated tests discriminate"
        rows = {
            tuple(self.table.keys[group.members[0]]) for group in groups if group.score == groups[0].score
        }
        confidence = min(calibrate(groups[0].share), 1 / len(rows))  # of equally good behaviours one is right
        return Rating(values=values, details=details, confidence=confidence, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLevel:
    """Static signs of patches."""

    signs: Sequence[StaticSigns]
    name: str = "static signs"
    evidence: Evidence = "static"

    async def rate(self, members: Sequence[int]) -> Rating | None:
        """See `Level.rate`."""
        values = {each: round(self.signs[each].score, 6) for each in members}
        details = {each: f"score {values[each]:.2f}" for each in members}
        return Rating(values=values, details=details, confidence=STATIC_CONFIDENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLevel:
    """Smaller candidates first. sizes: lines"""

    sizes: Sequence[int]
    name: str = "size"
    evidence: Evidence = "static"

    async def rate(self, members: Sequence[int]) -> Rating | None:
        """See `Level.rate`."""
        values: Mapping[int, float] = {each: -float(self.sizes[each]) for each in members}
        return Rating(values=values, details={each: f"{self.sizes[each]} lines" for each in members})


def calibrate(share: float) -> float:
    """Return the probability that a choice is right from its group's share, by linear interpolation."""
    for (low, low_value), (high, high_value) in itertools.pairwise(CALIBRATION):
        if share <= high:
            return low_value + (high_value - low_value) * (share - low) / (high - low)
    return CALIBRATION[-1][1]


def _describe_group(group: Group, alike: int, kept: int, number: int) -> str:
    tests = f", passes {group.tests} of {kept} generated tests" if kept else ""
    return f"{alike} of {number} behave alike{tests}"
