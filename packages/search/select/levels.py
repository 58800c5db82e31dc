"""Levels of evidence that need no model: checks, verdicts, behaviour, static signs, size."""

from __future__ import annotations

import math
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

Curve = tuple[float, float]
"""Slope and offset from the logit of a share to that of the probability of being right (Platt)."""

BEHAVIOUR_CURVE: Curve = (0.33, 0.28)
"""As fitted on choices among programs of two pools (benchmarks/results/2026-11-30-selection.md)."""

STATIC_CONFIDENCE = 0.45
"""Share of right choices by static signs alone, on tasks that no weight was fitted on and that have right and wrong
patches. It follows the margin no further: a curve said 0.56 where 0.45 were right."""

LEAST_SHARE = 1e-3
"""Shares nearer to none or all say no more than this: a single group that is left may be wrong as well."""

_PASSED, _FAILED = 1e9, -1e9
"""Values of verdicts: far apart, so that no progress of one leads past the next."""


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
        sure = calibrate(groups[0].share, BEHAVIOUR_CURVE)
        confidence = min(sure, 1 / len(rows))  # of equally good behaviours one is right
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


def calibrate(share: float, curve: Curve) -> float:
    """Return the probability that a choice is right from the share of its group, or candidate, in the score of all."""
    slope, offset = curve
    return 1 / (1 + math.exp(-slope * compute_logit(share) - offset))


def compute_logit(share: float) -> float:
    """Return the logarithm of the odds of a share; those of nearly none and nearly all are cut off."""
    inner = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
    return math.log(inner / (1 - inner))


def _describe_group(group: Group, alike: int, kept: int, number: int) -> str:
    tests = f", passes {group.tests} of {kept} generated tests" if kept else ""
    return f"{alike} of {number} behave alike{tests}"
