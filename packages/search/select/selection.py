"""Choose among candidates by levels of evidence, the strongest first.

Each level rates the candidates that the levels before it leave equal. The first that tells them apart decides; the
choice says which, why, and how sure it is. It abstains where the evidence does not carry a choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from agent.verify.verdict import Evidence
from sandbox.lazy_dataclass import dataclass

LEAST_CONFIDENCE = 0.5
"""Confidence below which nothing is chosen unless asked for: more likely wrong than right."""

UNTESTED_CONFIDENCE = 0.49
"""Most confidence where the tests did not run: 20.5 right choices of 42 on tasks that no weight was fitted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What one level says of candidates, by their number.

    values: higher is better, equal values are left to the next level
    details: a clause for a person for each candidate
    confidence: probability that the best one is right, as far as this level knows; None if it does not tell
    refused: candidates that must not be chosen; they are still ranked
    note: a sentence on all of them
    caution: why the strongest evidence is missing, "" if it is not; the choice is less sure then
    """

    values: Mapping[int, float]
    details: Mapping[int, str] = field(default_factory=dict)
    confidence: float | None = None
    refused: frozenset[int] = frozenset()
    note: str = ""
    caution: str = ""


class Level(Protocol):
    """One kind of evidence."""

    @property
    def name(self) -> str: ...

    @property
    def evidence(self) -> Evidence: ...

    async def rate(self, members: Sequence[int]) -> Rating | None:
        """Rate candidates; None if there is no such evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReport:
    """One level as it was used. left: the candidates after it"""

    name: str
    evidence: Evidence
    details: Mapping[int, str]
    left: Sequence[int]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Result of a selection.

    best: the candidate that the evidence favours, chosen or not
    ranking: all candidates, the best first
    decided_by: name of the level that left only the best; "" if they are equal in all
    confidence: estimated probability that the best is right
    abstained: why nothing is chosen, "" if the best one is
    is_refused: even the best one fails executed checks
    caution: what was to be run and did not run, "" if all did
    """

    best: int
    ranking: Sequence[int]
    decided_by: str
    confidence: float
    levels: Sequence[LevelReport]
    abstained: str = ""
    is_refused: bool = False
    caution: str = ""

    @property
    def winner(self) -> int | None:
        """The chosen candidate; None if the selection abstains."""
        return None if self.abstained else self.best


async def choose_candidate(
    number: int, levels: Sequence[Level], *, least_confidence: float = LEAST_CONFIDENCE
) -> Choice:
    """Choose among `number` candidates, at least one."""
    ranking: list[list[int]] = [list(range(number))]
    reports: list[LevelReport] = []
    confidence: float | None = None
    decided_by = caution = ""
    refused: set[int] = set()
    for level in levels:
        leaders = ranking[0]
        if len(leaders) == 1 and confidence is not None:
            break
        rating = await level.rate(leaders)
        if rating is None:
            continue
        refused |= rating.refused
        caution = caution or rating.caution
        ranking = [*_split_group(leaders, rating), *ranking[1:]]
        reports.append(_report_level(level, rating, ranking[0]))
        if rating.confidence is not None and (confidence is None or level.evidence == "executed"):
            confidence = rating.confidence
        if len(ranking[0]) == 1 < len(leaders):
            decided_by = level.name
    order = [each for group in ranking for each in group]
    sure = confidence if confidence is not None else 1.0 / max(number, 1)
    if caution:
        sure = min(sure, UNTESTED_CONFIDENCE)
    return Choice(
        best=order[0],
        ranking=order,
        decided_by=decided_by,
        confidence=sure,
        levels=reports,
        abstained=_explain_abstention(order[0] in refused, sure, least_confidence),
        is_refused=order[0] in refused,
        caution=caution,
    )


def _report_level(level: Level, rating: Rating, left: Sequence[int]) -> LevelReport:
    return LevelReport(
        name=level.name, evidence=level.evidence, details=rating.details, left=tuple(left), note=rating.note
    )


def _split_group(members: Sequence[int], rating: Rating) -> list[list[int]]:
    """Return the members in groups of equal value, the best first."""
    groups: dict[float, list[int]] = {}
    for each in members:
        groups.setdefault(rating.values.get(each, 0.0), []).append(each)
    return [groups[value] for value in sorted(groups, reverse=True)]


def _explain_abstention(is_refused: bool, confidence: float, least: float) -> str:
    if is_refused:
        return "no candidate passes the executed checks"
    if confidence < least:
        return f"the evidence is too weak: confidence {confidence:.2f}, below {least:.2f}"
    return ""
