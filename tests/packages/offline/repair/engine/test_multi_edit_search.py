"""Which first changes are worth a second one, and in which order the second ones come."""

from __future__ import annotations

from typing import Any

import pytest

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.multi_edit_search import (
    ALIKE,
    MOST_JUDGES,
    PartialPatch,
    SearchBase,
    build_base,
    generate_second_changes,
    removes_exception,
    select_different_tests,
    select_promising,
)
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import Hints, Source

TEXT = "def f(a, b):\n    c = a - bb\n    return c * 3\n"
SOURCES = {"a.py": Source("a.py", TEXT)}
LINES = {"a.py": frozenset({1, 2, 3})}


def made(index: int, standing: Any = "failed", error: str = "NameError") -> Test:
    return Test(index=index, id=f"t{index}", file="t.py", standing=standing, error=error, lines=LINES)


FAILING = [made(0), made(1)]
SPECTRUM = Spectrum(tests=[*FAILING, made(2, "passed", "")], imported={}, complete=True)


def singles() -> list[Candidate]:
    return list(generate_candidates(rank_statements(SOURCES, FAILING, SPECTRUM), SOURCES, Hints()))


def meant(text: str) -> Candidate:
    return next(each for each in singles() if each.change.text == text)


def probed(*tests: dict[str, Any]) -> dict[str, Any]:
    lines = {"lines": {"a.py": [1, 2, 3]}}
    return {"tests": {str(index): {**lines, **each} for index, each in enumerate(tests)}}


PASSED = {"outcome": "passed"}
WRONG = {"outcome": "failed", "type": "AssertionError", "message": "assert 1 == 2"}
NO_NAME = {"outcome": "failed", "type": "NameError", "message": ""}
HUNG = {"outcome": "timeout"}


def weight(candidate: Candidate, *tests: dict[str, Any]) -> float:
    found = build_base(candidate, probed(*tests), SOURCES, SPECTRUM, FAILING)
    assert found is not None
    return found.weight


def test_what_made_a_test_pass_comes_first_and_few_of_those_that_fail_alike() -> None:
    every = singles()
    halves = [PartialPatch(candidate=each, message="ValueError: x") for each in every[: ALIKE + 3]]
    helped = PartialPatch(candidate=every[-1], message="")
    found = select_promising([*halves, helped])
    assert found == [every[-1], *every[:ALIKE]]


def test_a_base_weighs_more_when_tests_pass_or_an_exception_is_gone_and_less_when_one_breaks() -> None:
    one = meant("b")
    gained = weight(one, PASSED, WRONG, PASSED)
    further = weight(one, WRONG, WRONG, PASSED)
    nothing = weight(one, NO_NAME, NO_NAME, PASSED)
    endless = weight(one, HUNG, HUNG, PASSED)
    broken = weight(one, WRONG, WRONG, WRONG)
    assert gained > further > broken > nothing
    assert endless == nothing


def test_another_exception_counts_for_further_only_when_more_was_run_before_it() -> None:
    one = meant("b")
    other = {"outcome": "failed", "type": "TypeError", "message": ""}
    later = other | {"lines": {"a.py": [1, 2, 3, 4]}}
    elsewhere = other | {"lines": {"a.py": [1, 2, 3], "b.py": [7]}}
    nothing = weight(one, NO_NAME, NO_NAME, PASSED)
    assert weight(one, other, other, PASSED) == nothing
    assert weight(one, later, later, PASSED) == weight(one, elsewhere, elsewhere, PASSED) > nothing


def test_a_second_change_got_past_its_base_when_the_exception_is_gone(base: SearchBase) -> None:
    stopped = build_base(meant("b"), probed(NO_NAME, NO_NAME, PASSED), SOURCES, SPECTRUM, FAILING)
    assert removes_exception("TypeError: 3", stopped)
    assert removes_exception("AssertionError: assert 1 == 2", stopped)
    assert not removes_exception("NameError: ", stopped)
    # a test that came to its end fails with other values with any change at all
    assert not removes_exception("TypeError: 3", base)


def test_a_change_that_mends_everything_or_is_no_program_is_no_base() -> None:
    assert build_base(meant("b"), probed(PASSED, PASSED, PASSED), SOURCES, SPECTRUM, FAILING) is None
    assert build_base(meant("b"), probed(HUNG), SOURCES, SPECTRUM, FAILING) is not None


@pytest.fixture
def base() -> SearchBase:
    found = build_base(meant("b"), probed(WRONG, WRONG, PASSED), SOURCES, SPECTRUM, FAILING)
    assert found is not None
    return found


def test_second_changes_are_made_of_what_the_first_leaves_and_each_outcome_comes_once(
    base: SearchBase,
) -> None:
    found = list(generate_second_changes([base, base], first_rank=500, most=100, seen=set()))
    assert [each.rank for each in found] == list(range(500, 600))
    outcomes = [tuple(each.edits) for each in found]
    assert len(set(outcomes)) == len(outcomes)
    assert all(each.base is base.candidate and each.parts == [base.candidate, each] for each in found)
    after = {edited(each) for each in found}
    assert "def f(a, b):\n    c = a + b\n    return c * 3\n" in after
    assert "def f(a, b):\n    c = a - b\n    return c * 2\n" in after


def edited(candidate: Candidate) -> str:
    text = TEXT
    for edit in reversed(candidate.edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def test_second_changes_are_judged_by_few_tests_that_run_other_lines() -> None:
    runs = [{1}, {1}, {1, 2}, {1, 2}, {1, 3}, {1, 4}]
    failing = [
        Test(index=i, id=f"t{i}", file="t.py", standing="failed", lines={"a.py": frozenset(lines)})
        for i, lines in enumerate(runs)
    ]
    assert [test.index for test in select_different_tests(failing)] == [0, 2, 4][:MOST_JUDGES]
