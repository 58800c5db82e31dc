"""Ranking of candidates by executed tests, then by what they do to tests, then by size.

Best of n, selected by execution: R2E-Gym (Jain et al. 2025, arXiv 2504.07164) gains most from running tests.
Opinions (a judge's, say) only order candidates that the evidence leaves equal.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.verify.verdict import rank_verdicts
from sandbox.lazy_dataclass import dataclass

_TIERS = {Exit.DONE: 0, Exit.NO_TEST_RUNNER: 1, Exit.TESTS_FAIL: 2}
"""Exit codes of attempts that changed files, the best first; all others come after."""

_LEFT_OUT = ("skipped", "xfailed", "xpassed", "deselected")
"""Tests that a run reports and that neither passed nor failed."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, the best first. reason: why the first is; confidence, abstained: see `ChoiceEvent`"""

    candidates: tuple[Candidate, ...]
    reason: str = ""
    confidence: float | None = None
    abstained: str = ""

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


def rank_candidates(candidates: Sequence[Candidate]) -> Ranking:
    """Return the candidates in order. Of unchanged tests, those that pass in one should pass in each."""
    untouched = [each.count_tests("passed") for each in candidates if each.patch and not each.changes_tests]
    expected = max(untouched, default=0)
    ordered = sorted(candidates, key=lambda each: _compute_sort_key(each, expected))
    return Ranking(tuple(ordered), _explain_first(ordered, expected))


def find_leaders(ranking: Ranking) -> list[Candidate]:
    """Return the candidates that the executed tests, and what they do to tests, leave equal to the best one."""
    untouched = [
        each.count_tests("passed") for each in ranking.candidates if each.patch and not each.changes_tests
    ]
    expected = max(untouched, default=0)
    best = _compute_sort_key(ranking.best, expected)[:_EXECUTED]
    return [each for each in ranking.candidates if _compute_sort_key(each, expected)[:_EXECUTED] == best]


_EXECUTED = 6
"""Places of a sort key that tests fill; opinions and the size come after them."""


def _compute_sort_key(candidate: Candidate, expected: int) -> tuple[int, ...]:
    """Return the sort key of a candidate. expected: number of tests that should pass"""
    return (
        not candidate.patch,
        _TIERS.get(Exit(candidate.exit_code), 3),
        bool(candidate.objection),
        candidate.count_tests("failed"),
        sum(map(candidate.count_tests, _LEFT_OUT)),
        max(0, expected - candidate.count_tests("passed")),
        rank_verdicts(candidate.verdicts)[1],
        candidate.lines,
        candidate.attempt,
    )


_REASONS = (
    "the only one with a change",
    "its tests came out best",
    "it weakens no test",
    "the fewest tests fail",
    "it leaves out the fewest tests",
    "it loses no test",
    "equal by the tests, and preferred by opinion",
    "equal by the tests, and the smallest change",
    "equal, and the first",
)
"""Why a candidate is before the next one, by the place of the first difference between their keys."""


def _explain_first(ordered: Sequence[Candidate], expected: int) -> str:
    best = ordered[0]
    if not best.patch:
        return ""
    if len(ordered) == 1:
        return "the only one"
    first, second = (_compute_sort_key(each, expected) for each in ordered[:2])
    place = next(number for number, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1])
    return _REASONS[place]
