"""How far a candidate has come, by what ran: the reward of searches. Opinions are no part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import Failure

LOADED, UNLOADED, UNPARSED = 0.2, 0.1, 0.05
"""Values of a change with which the tests run, cannot be loaded, or do not parse."""

PARTIAL, BROKEN = 0.7, 0.5
"""What mended tests add, if it were all, and what broken ones take away: a whole change is worth 1."""


def measure_progress(
    candidate: Candidate, failure: Failure | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> float:
    """Return a value from 0 to 1: 1 where nothing fails, else by the share of failing tests that were mended.

    before, after: reports of the suite without the change and with it
    """
    if not candidate.patch:
        return 0.0
    if failure is None:
        return 1.0
    if failure.kind in ("does not parse", "does not import"):
        return UNPARSED if failure.kind == "does not parse" else UNLOADED
    if failure.kind == "environment" or not after:
        return UNLOADED
    return max(UNLOADED, measure_report(before, after))


def measure_report(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """Return the value of a state with which the tests ran: what it mended, less what it broke."""
    old = {str(each.get("id")) for each in before.get("failures", ())}
    now = {str(each.get("id")) for each in after.get("failures", ())}
    passing = int(before.get("passed") or 0)
    mended = len(old - now) / len(old) if old else 0.0
    broken = len(now - old) / (passing or len(now) or 1)
    return LOADED + PARTIAL * mended - BROKEN * min(1.0, broken)


def find_best_run(reports: Sequence[Mapping[str, Any]], before: Mapping[str, Any]) -> int:
    """Return the place of the run of an attempt that shows the most progress: the last one unless an earlier is better.

    An earlier one has to have mended more than it broke: what is left of a change that mended nothing is not worth
    a rewind.
    """
    values = [measure_report(before, each) for each in reports]
    best = max(range(len(values)), key=lambda place: (values[place], -place))
    return best if values[best] > max(values[-1], LOADED) else len(values) - 1


def has_progress(value: float, failure: Failure) -> bool:
    """Whether a failed change is worth going on from: it mended more than it broke, or it could not even be run.

    What is wrong in a change that mended nothing stays wrong in all that follows from it.
    """
    return value > LOADED or failure.kind in ("does not parse", "does not import", "environment")
