"""How far a candidate has come, by what ran: the reward of searches. Opinions are no part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import Failure
from tools.testing.run_comparison import count_lost_tests

LOADED, UNLOADED, UNPARSED = 0.2, 0.1, 0.05
"""Values of a change with which the tests run, cannot be loaded, or do not parse."""

MOST_TESTS = 200
"""Names of failing tests that the log keeps of one attempt."""

PARTIAL, BROKEN = 0.7, 0.5
"""What mended tests add, if it were all, and what broken ones take away: a whole change is worth 1."""


def measure_progress(
    candidate: Candidate, failure: Failure | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> float:
    """Return a value from 0 to 1: 1 where nothing fails, else by the share of failing tests that were mended.

    before, after: reports of the suite without the change and with it
    """
    if not candidate.patch or candidate.objection:
        return 0.0
    if failure is None:
        return 1.0
    if failure.kind in ("does not parse", "does not import"):
        return UNPARSED if failure.kind == "does not parse" else UNLOADED
    if failure.kind == "environment" or not after:
        return UNLOADED
    return max(UNLOADED, measure_report(before, after))


def measure_report(before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
    """Return the value of a state with which the tests ran: what it mended, less what it broke.

    A test that passed before and does not run any more is broken.
    """
    if not _has_run(after):
        return UNLOADED
    old, now = list_failing_tests(before), list_failing_tests(after)
    passing = int(before.get("passed") or 0)
    mended = list_mended_tests(before, after)
    lost = max(0, count_lost_tests(before, after) - len(old - now - mended))
    broken = (len(now - old) + lost) / (passing or len(now) or 1)
    return LOADED + PARTIAL * (len(mended) / len(old) if old else 0.0) - BROKEN * min(1.0, broken)


def list_mended_tests(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    """Return the tests that failed and pass now: one that does not run any more is not mended.

    Where the tests that pass are not named, none counts if some do not run any more.
    """
    if not _has_run(after):
        return frozenset()
    gone = list_failing_tests(before) - list_failing_tests(after)
    passed = after.get("passed_tests")
    if passed:
        return gone & frozenset(passed)
    return frozenset() if count_lost_tests(before, after) else gone


def list_broken_tests(
    before: Mapping[str, Any], failing: Iterable[str], *, has_new_tests: bool
) -> frozenset[str]:
    """Return the failing tests that passed before, by name: one that is new, or failed before, is not broken.

    Where the tests that passed are not named, all others count, unless some of them may be new.
    """
    if passed := before.get("passed_tests"):
        return frozenset(failing) & frozenset(map(str, passed))
    if has_new_tests or not before or not _has_run(before):
        return frozenset()
    return frozenset(failing) - list_failing_tests(before)


def list_failing_tests(report: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the failing tests that a report names."""
    return frozenset(str(each.get("id")) for each in report.get("failures", ()) if isinstance(each, dict))


def loses_tests(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether tests that ran before do not run any more: they are not collected, not called, or left out."""
    if before.get("outcome") in ("passed", "failed") and after.get("outcome") == "broken":
        return True
    return bool(count_lost_tests(before, after))


def _has_run(report: Mapping[str, Any]) -> bool:
    """Return whether the tests could be collected and ended."""
    return report.get("outcome", "failed") in ("passed", "failed")


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
