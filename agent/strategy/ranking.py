"""Ranking of candidates by executed tests, then by what they do to tests, then by size.

Best of n, selected by execution: R2E-Gym (Jain et al. 2025, arXiv 2504.07164) gains most from running tests.
Opinions (a judge's, say) only order candidates that the evidence leaves equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.progress import list_broken_tests, list_failing_tests
from agent.verify.verdict import rank_verdicts
from sandbox.lazy_dataclass import dataclass

_TIERS = {Exit.DONE: 0, Exit.NO_TEST_RUNNER: 1, Exit.TESTS_FAIL: 2}
"""Exit codes of attempts that changed files, the best first; all others come after."""

_LEFT_OUT = ("skipped", "xfailed", "xpassed", "deselected")
"""Tests that a run reports and that neither passed nor failed."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, the best first.

    reason: why the first is; confidence, abstained: see `ChoiceEvent`
    before: report of the suite without a change, {} where it was not run
    """

    candidates: tuple[Candidate, ...]
    reason: str = ""
    confidence: float | None = None
    abstained: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


def rank_candidates(candidates: Sequence[Candidate], before: Mapping[str, Any] | None = None) -> Ranking:
    """Return the candidates in order. before: report of the suite without a change, where it was run"""
    keys = _compute_sort_keys(candidates, before or {})
    ordered = sorted(candidates, key=lambda each: keys[each.attempt])
    return Ranking(tuple(ordered), _explain_first(ordered, keys), before=before or {})


def find_leaders(ranking: Ranking) -> list[Candidate]:
    """Return the candidates that the executed tests, and what they do to tests, leave equal to the best one."""
    keys = _compute_sort_keys(ranking.candidates, ranking.before)
    best = keys[ranking.best.attempt][:_EXECUTED]
    return [each for each in ranking.candidates if keys[each.attempt][:_EXECUTED] == best]


_EXECUTED = 8
"""Places of a sort key that tests fill; opinions and the size come after them."""


def _compute_sort_keys(
    candidates: Sequence[Candidate], before: Mapping[str, Any]
) -> dict[int, tuple[int, ...]]:
    """Return the sort keys by number. Of unchanged tests, those that pass in one should pass in each."""
    untouched = [each.count_tests("passed") for each in candidates if each.patch and not each.changes_tests]
    expected = max(untouched, default=0)
    return {each.attempt: _compute_sort_key(each, expected, before) for each in candidates}


def _compute_sort_key(candidate: Candidate, expected: int, before: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the sort key of a candidate. expected: number of tests that should pass"""
    broken = list_broken_tests(before, candidate.failing_tests, has_new_tests=candidate.changes_tests)
    mended = _count_mended_tests(candidate, before)
    return (
        not candidate.patch,
        _TIERS.get(Exit(candidate.exit_code), 3),
        bool(candidate.objection),
        mended <= len(broken),  # by name, before counts: new tests that pass do not make up for a broken one
        len(broken),
        max(
            0, expected - candidate.count_tests("passed")
        ),  # first: a failing test that is skipped is not mended
        candidate.count_tests("failed"),
        sum(map(candidate.count_tests, _LEFT_OUT)),
        rank_verdicts(candidate.verdicts)[1],
        candidate.lines,
        candidate.attempt,
    )


def _count_mended_tests(candidate: Candidate, before: Mapping[str, Any]) -> int:
    """Return how many tests that failed before, by name, do not fail any more; 0 if fewer tests ran than before."""
    ran = candidate.count_tests("passed") + candidate.count_tests("failed")
    if not ran or ran < int(before.get("passed") or 0) + int(before.get("failed") or 0):
        return 0
    if len(candidate.failing_tests) in range(candidate.count_tests("failed")):  # not all are named
        return 0
    return len(list_failing_tests(before) - frozenset(candidate.failing_tests))


_REASONS = (
    "the only one with a change",
    "its tests came out best",
    "it weakens no test",
    "it mends more of the tests that failed before than it breaks others",
    "it breaks the fewest tests that passed before",
    "the most tests pass",
    "the fewest tests fail",
    "it leaves out the fewest tests",
    "equal by the tests, and preferred by opinion",
    "equal by the tests, and the smallest change",
    "equal, and the first",
)
"""Why a candidate is before the next one, by the place of the first difference between their keys."""


def _explain_first(ordered: Sequence[Candidate], keys: Mapping[int, tuple[int, ...]]) -> str:
    best = ordered[0]
    if not best.patch:
        return ""
    if len(ordered) == 1:
        return "the only one"
    first, second = (keys[each.attempt] for each in ordered[:2])
    place = next(number for number, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1])
    return _REASONS[place]
