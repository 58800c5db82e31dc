"""Ranking: which of several candidates is the best, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.ranking import find_leaders, rank_candidates
from agent.verify.verdict import Verdict


def candidate(number: int, verification: str = "passed: 3 passed", **changes: Any) -> Candidate:
    code = Exit.TESTS_FAIL if "failed" in verification else Exit.DONE
    given = {"exit_code": int(code), "patch": f"out:{number}", "lines": 10, **changes}
    return Candidate(attempt=number, verification=verification, **given)


LIKED = (Verdict(outcome="pass", evidence="opinion", name="judge"),)


@pytest.mark.parametrize(
    ("better", "worse", "reason"),
    [
        ({}, {"patch": ""}, "the only one with a change"),
        ({}, {"verification": "failed: 1 failed, 3 passed"}, "its tests came out best"),
        ({}, {"exit_code": int(Exit.LIMIT), "verification": ""}, "its tests came out best"),
        ({"lines": 90}, {"weakened_tests": 1}, "it weakens no test"),
        (
            {"verification": "failed: 2 failed, 9 passed"},
            {"verification": "failed: 1 failed, 8 passed, 2 skipped"},
            "the most tests pass",
        ),
        (
            {"verification": "failed: 1 failed, 8 passed"},
            {"verification": "failed: 2 failed, 8 passed"},
            "the fewest tests fail",
        ),
        ({"lines": 90}, {"verification": "passed: 3 passed, 1 skipped"}, "it leaves out the fewest tests"),
        ({"lines": 90}, {"verification": "passed: 2 passed", "changes_tests": True}, "the most tests pass"),
        ({"verdicts": LIKED, "lines": 90}, {}, "equal by the tests, and preferred by opinion"),
        ({"lines": 9}, {}, "equal by the tests, and the smallest change"),
        ({}, {}, "equal, and the first"),
    ],
)
def test_the_best_is_chosen_by_tests_then_by_what_it_does_to_them_then_by_size(
    better: dict[str, Any], worse: dict[str, Any], reason: str
) -> None:
    numbers = (1, 2) if better == worse else (2, 1)  # of equals the first; else the number must not matter
    pair = [candidate(numbers[0], **better), candidate(numbers[1], **worse)]
    ranking = rank_candidates(sorted(pair, key=lambda each: each.attempt))
    assert (ranking.best, ranking.reason) == (pair[0], reason)


NAMED = {
    "outcome": "failed",
    "passed_tests": ["t::kept", "t::other"],
    "failures": [{"id": "t::old"}],
    "passed": 2,
}
UNNAMED = {"outcome": "failed", "failures": [{"id": "t::old"}], "passed": 2}


@pytest.mark.parametrize("before", [NAMED, UNNAMED])
def test_a_test_that_is_broken_by_name_is_not_made_up_for_by_others_that_pass(before: dict[str, Any]) -> None:
    breaking = candidate(1, "failed: 1 failed, 9 passed", failing_tests=("t::kept",), lines=1)
    honest = candidate(2, "failed: 1 failed, 3 passed", failing_tests=("t::old",))
    ranking = rank_candidates([breaking, honest], before)
    assert (ranking.best, ranking.reason) == (honest, "it breaks the fewest tests that passed before")
    assert find_leaders(ranking) == [honest]
    assert rank_candidates([breaking, honest]).best == breaking, "without a run before, counts decide"


def test_what_mends_more_than_it_breaks_is_before_what_does_nothing() -> None:
    before = {"outcome": "failed", "failures": [{"id": "t::a"}, {"id": "t::b"}], "passed": 1, "failed": 2}
    partial = candidate(2, "failed: 1 failed, 2 passed", failing_tests=("t::kept",), lines=90)
    idle = candidate(1, "failed: 2 failed, 1 passed", failing_tests=("t::a", "t::b"))
    ranking = rank_candidates([idle, partial], before)
    told = "it mends more of the tests that failed before than it breaks others"
    assert (ranking.best, ranking.reason) == (partial, told)
    fewer = replace(partial, verification="failed: 1 failed")
    assert rank_candidates([idle, fewer], before).best == idle, "tests that do not run are not mended"


def test_a_new_test_that_fails_is_not_a_broken_one() -> None:
    fresh = candidate(1, "failed: 1 failed, 9 passed", failing_tests=("t::new",), changes_tests=True)
    assert rank_candidates([fresh, candidate(2, "failed: 1 failed, 3 passed")], UNNAMED).best == fresh
    assert rank_candidates([fresh, candidate(2, "failed: 1 failed, 3 passed")], NAMED).best == fresh


def test_the_names_of_failing_tests_are_kept_in_the_log() -> None:
    made = candidate(1, failing_tests=("t::one",), files=("cart.py",))
    event = made.to_event()
    assert (event.failing_tests, event.files) == (["t::one"], ["cart.py"])
    assert Candidate.from_event(event, ()) == made


def test_an_opinion_never_beats_evidence() -> None:
    liked = candidate(1, "failed: 1 failed, 2 passed", verdicts=LIKED)
    assert rank_candidates([liked, candidate(2)]).best.attempt == 2


def test_a_candidate_survives_the_log() -> None:
    made = candidate(2, files=("a.py",), verdicts=LIKED, outcome="done", report="Done.", seconds=1.5)
    assert Candidate.from_event(made.to_event(), LIKED) == made
