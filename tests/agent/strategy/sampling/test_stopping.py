"""When one more attempt is not worth its price: by agreement, by repetition, and never before anything is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.sampling.stopping import (
    Outcome,
    compute_doubt,
    compute_gain,
    explain_stop,
    read_outcome,
)


def outcomes(passing: str = "", failing: str = "") -> Sequence[Outcome]:
    """Return an outcome for each letter: a behaviour."""
    return [
        *(Outcome(behaviour=each, passes=True) for each in passing),
        *(Outcome(behaviour=each, passes=False) for each in failing),
    ]


@pytest.mark.parametrize(
    ("passing", "failing", "stops"),
    [
        ("", "", False),
        ("a", "", False),
        ("aa", "", False),
        ("aaa", "", True),
        ("ab", "x", False),
        ("aaab", "", False),
        ("", "x", False),
        ("", "xxx", False),
        ("", "xxxxxx", True),
        ("", "uvwxyz", False),
        ("", "abcdefghijklmnopqrs", True),
    ],
)
def test_agreement_and_repetition_end_it(passing: str, failing: str, *, stops: bool) -> None:
    assert bool(explain_stop(outcomes(passing, failing))) is stops


def test_the_reason_names_the_chance() -> None:
    assert explain_stop(outcomes("", "xxxxxx")) == "none passes, and one more would with a chance of 5%"
    assert explain_stop(outcomes("aaa")) == "one more would change the result with a chance of 4%"


def test_the_gain_falls_with_agreement_and_rises_with_a_rival() -> None:
    gains = [compute_gain(outcomes("a" * number)) for number in range(1, 6)]
    assert gains == sorted(gains, reverse=True)
    assert compute_gain(outcomes("aab")) > compute_gain(outcomes("aaa"))
    assert compute_doubt(3, 3) == pytest.approx(0.5)
    assert compute_doubt(9, 1) < 0.02


def test_changes_are_the_same_whatever_blank_lines_lie_between() -> None:
    def read(patch: str, code: Exit, **more: int) -> Outcome:
        given = Candidate(attempt=1, exit_code=int(code), patch="out:1", verification="failed: 1", **more)  # type: ignore[arg-type]
        return read_outcome(given, patch.encode())

    one = read("+a = 1\n+\n", Exit.DONE)
    assert one == read("+a =  1\n", Exit.DONE)
    assert one != read("+a = 2\n", Exit.DONE)
    assert read("+a = 1\n", Exit.TESTS_FAIL) == read("+a = 2\n", Exit.TESTS_FAIL), (
        "they failed in the same way"
    )
    assert not read("+a = 1\n", Exit.DONE, weakened_tests=1).passes
