"""When one more attempt is not worth its price: by agreement, by repetition, and never before anything is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.sampling.stopping import STABLE, Choose, Outcome, explain_stop, read_outcome


def outcomes(passing: str = "", failing: str = "") -> Sequence[Outcome]:
    """Return an outcome for each letter: a behaviour."""
    return [
        *(Outcome(behaviour=each, passes=True) for each in passing),
        *(Outcome(behaviour=each, passes=False) for each in failing),
    ]


@pytest.mark.parametrize(
    ("passing", "failing", "why"),
    [
        ("", "", ""),
        ("a", "", ""),
        ("aa", "", ""),
        ("aaa", "", "3 did the same"),
        ("ab", "xxx", ""),
        ("aab", "", ""),
        ("aabb", "xx", "they repeat each other"),
        ("", "xxxxx", ""),
        ("", "xxxxxx", "they fail in the same ways"),
        ("", "uvwxyz", ""),
        ("a", "bcdefghijklmno", ""),
        ("a", "bcdefghijklmnop", "each did something else"),
        ("", "abcdefghijklmnop", "none passes, and each fails in a way of its own"),
        ("a", "xxxxxxxxxxxxxxxxxxxx", ""),
    ],
)
def test_agreement_repetition_and_scatter_end_it(passing: str, failing: str, why: str) -> None:
    assert explain_stop(outcomes(passing, failing)) == why


def test_a_choice_is_settled_where_parts_of_the_attempts_lead_to_it() -> None:
    def choose_most_frequent(text: str) -> Choose:
        def choose(sets: Sequence[Sequence[int]]) -> list[str]:
            return [max("abcdefgh", key=[text[each] for each in members].count) for members in sets]

        return choose

    told = STABLE.explain_stop(8, choose_most_frequent("aaaaaaab"))
    assert told.endswith(" of 40 parts of them lead to the same")
    assert told == STABLE.explain_stop(8, choose_most_frequent("aaaaaaab")), "the same after a kill"
    assert STABLE.explain_stop(7, choose_most_frequent("aaaaaaa")) == "", "too few to be divided"
    assert STABLE.explain_stop(8, choose_most_frequent("hgfedcba")) == "", "a part leads elsewhere"


@pytest.mark.parametrize(
    ("passing", "failing", "ends"),
    [("aabbcdefghij", "", False), ("aa", "uvwxyz", True), ("a", "tuvwxyz", False), ("aab", "vwxyz", False)],
)
def test_a_change_that_is_found_again_and_has_no_rival_is_enough(
    passing: str, failing: str, ends: bool
) -> None:
    assert bool(explain_stop(outcomes(passing, failing))) is ends


def test_changes_are_the_same_whatever_blank_lines_lie_between() -> None:
    def read(patch: str, code: Exit, **more: int) -> Outcome:
        given = Candidate(attempt=1, exit_code=int(code), patch="out:1", verification="failed: 1", **more)  # type: ignore[arg-type]
        return read_outcome(given, patch.encode())

    one = read("+a = 1\n+\n", Exit.DONE)
    assert one == read("+a = 1  \n", Exit.DONE)
    assert one != read("+    a = 1\n", Exit.DONE), "indentation is behaviour"
    assert one != read("+a = 2\n", Exit.DONE)
    assert read("+a = 1\n", Exit.TESTS_FAIL) == read("+a = 2\n", Exit.TESTS_FAIL), (
        "they failed in the same way"
    )
    assert not read("+a = 1\n", Exit.DONE, weakened_tests=1).passes


def test_failures_are_the_same_by_the_tests_that_fail() -> None:
    given = Candidate(attempt=1, exit_code=1, patch="out:1", verification="failed: 1 failed, 1 passed")
    one, other = (read_outcome(given, b"+1\n", frozenset({name})) for name in ("test_a", "test_b"))
    assert one != other
    assert one == read_outcome(given, b"+2\n", frozenset({"test_a"}))
