"""Ranking: which of several candidates is the best, and why."""

from __future__ import annotations

from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.ranking import rank_candidates
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
            {"verification": "failed: 1 failed, 9 passed"},
            {"verification": "failed: 2 failed, 8 passed"},
            "the fewest tests fail",
        ),
        ({"lines": 90}, {"verification": "passed: 3 passed, 1 skipped"}, "it leaves out the fewest tests"),
        ({"lines": 90}, {"verification": "passed: 2 passed", "changes_tests": True}, "it loses no test"),
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


def test_an_opinion_never_beats_evidence() -> None:
    liked = candidate(1, "failed: 1 failed, 2 passed", verdicts=LIKED)
    assert rank_candidates([liked, candidate(2)]).best.attempt == 2


def test_a_candidate_survives_the_log() -> None:
    made = candidate(2, files=("a.py",), verdicts=LIKED, outcome="done", report="Done.", seconds=1.5)
    assert Candidate.from_event(made.to_event(), LIKED) == made
