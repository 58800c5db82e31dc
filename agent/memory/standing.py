"""Standing of a lesson: how far outcomes speak for it, and whether it may still be shown."""

from __future__ import annotations

import time

from agent.memory.records import Lesson

MOST_MISSES = 2
"""Contradictions in a row after which a lesson is shown no more, however well it once did."""

_HALF_LIFE = 120 * 86_400.0
"""Seconds after which a lesson that nothing confirmed weighs half: tools of a repository change within months."""

LEAST_WEIGHT = 0.3
"""Below it a lesson is not shown: a new one has 0.5, and one that failed as often as it helped is near it."""


def measure_weight(lesson: Lesson, now: float | None = None) -> float:
    """Return the weight of a lesson, between 0 and 1: the share of its good outcomes (Laplace's rule), with decay."""
    share = (lesson.good + 1) / (lesson.good + lesson.bad + 2)
    if lesson.origin == "person":  # a wish holds until the person changes it
        return share
    age = max(0.0, (time.time() if now is None else now) - lesson.seen)
    return float(share * 0.5 ** (age / _HALF_LIFE))


def is_trusted(lesson: Lesson, now: float | None = None) -> bool:
    """Whether a lesson may be shown."""
    return (
        not lesson.replaced_by and lesson.misses < MOST_MISSES and measure_weight(lesson, now) >= LEAST_WEIGHT
    )


def describe_standing(lesson: Lesson, now: float | None = None) -> str:
    """Return the standing in words."""
    if lesson.replaced_by:
        return f"replaced by {lesson.replaced_by}"
    counts = f"weight {measure_weight(lesson, now):.2f}: {lesson.good} for it, {lesson.bad} against it"
    return counts if is_trusted(lesson, now) else f"not shown, {counts}"
