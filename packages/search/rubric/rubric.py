"""The criteria of a rubric, their scores, and the sum that a person is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.lazy_dataclass import dataclass

MOST = 12
"""Criteria of one rubric: more are not read."""

WEIGHTS = (1, 2, 3)
"""Of a criterion: nice to have, part of the task, its core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One criterion. id: "c1", "c2", …; text: what a good change shows; weight: of `WEIGHTS`"""

    id: str
    text: str
    weight: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Score of a criterion. value: 0 not met, 0.5 partly, 1 met; reason: one sentence"""

    value: float
    reason: str = ""


def compute_score(criteria: Sequence[Criterion], scores: Mapping[str, Score]) -> float | None:
    """Return the weighted mean of the scored criteria, 0 to 1; None if none is scored."""
    scored = [(each.weight, scores[each.id].value) for each in criteria if each.id in scores]
    total = sum(weight for weight, _ in scored)
    return sum(weight * value for weight, value in scored) / total if total else None


def list_items(criteria: Sequence[Criterion], scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Return the criteria as they are logged and printed as JSON, with their scores once there are any."""
    rows = []
    for each in criteria:
        row = asdict(each)
        if each.id in scores:
            row |= {"score": scores[each.id].value, "reason": scores[each.id].reason}
        rows.append(row)
    return rows
