"""What a prompt is taken to ask for: orders to repair are recognised, questions and other work never are."""

from __future__ import annotations

import pytest

from agent.prompt.named_tests import list_wanted_tests
from agent.prompt.prompt_reader import read_intent, read_intents

REPAIRS = [
    "make the failing tests pass",
    "please fix the failing tests",
    "fix the bug",
    "fix the tests again",
    "can you fix cart.py?",
    "there is a bug: the receipt that we send goes to the wrong address",
    "fix the bug: create a cart, add two items, total is wrong",
    "Fix test_cart.py::test_fee",
    "make it work",
    "get the tests to pass",
    "make CI green",
    "find the bug and fix it",
    "why do the tests fail? fix them",
    "run the tests and fix what fails",
    "fix the bug but do not change the tests",
    "make the tests pass without changing the tests",
    "I want you to fix the failing test",
    "repair",
    "make test_total pass",
    "please make all tests green again",
    "fix: total is off by one",
    "the tests fail, please fix them",
    "Could you please make the tests pass?",
    "turn the suite green",
    "fix the type error in cart.py",
    "fix normalize: it must not modify its argument",
    "make sure the tests pass",
    "fix this issue: sort() doesn't work\n\ndon't",
    "make the failing test in tests/test_a.py pass\n[state]",
    "debug and fix the failing test",
    "make the failing tests pass\nhurry up",
]

NO_REPAIRS = [
    "hello",
    "add a dark mode",
    "what does main.py do?",
    "explain the tests",
    "what do the failing tests check? do not change anything",
    "how do I fix the failing tests?",
    "tell me how to fix the bug",
    "which tests fail?",
    "list the failing tests",
    "run the tests",
    "write a test for cart",
    "delete the broken test",
    "review the error messages",
    "is this test correct?",
    "fix the typo in the README",
    "why do the tests fail?",
    "explain the error and how to fix it",
    "don't fix anything, just explain",
    "show me the tests that pass",
    "make a list of the tests that pass",
    "get the names of the tests that pass",
    "correct me if I'm wrong: does total fail?",
    "summarize the fix",
    "what would fix the tests?",
    "should I fix the tests?",
    "fix the tests and update the changelog",
    "add a flag and make the tests pass",
    "make the failing tests pass, but do not change any file",
    "the tests are failing",
    "describe the bug",
    "resolve the merge conflict",
    "make the tests faster",
    "can you explain how the tests work?",
    "how can I make the tests pass?",
    "what makes the tests pass",
    "debug this",
    "test",
    "tests?",
    "do the tests pass?",
    "make me a summary of what passes",
    "only explain, then fix nothing",
    "fix nothing",
]

PASSING = [
    "make the failing tests pass",
    "fix the failing tests",
    "add x so that the tests pass",
    "make sure the tests pass",
    "add a flag and make sure all tests pass",
    "fix test_total",
    "Please get tests/test_a.py::test_x to pass",
]

NOT_PASSING = [
    "do the tests pass?",
    "how do I make the tests pass?",
    "explain the tests",
    "fix the bug",
    "make the failing tests pass, change nothing",
    "add tests",
    "which changes make the tests pass?",
    "what do I do so that the tests pass?",
]

TESTS_TO_CHANGE = [
    "update the tests",
    "change test_total to expect 5",
    "rename total to sum and update the tests",
    "remove the obsolete tests",
    "refactor cart and its tests",
    "the test is wrong",
    "skip the flaky test",
    "adapt all existing unit tests to the new API",
    "update tests/test_cart.py",
    "delete test_fee",
    "change the expected value to 5",
    "test_total is wrong: it should be 5",
]

TESTS_TO_KEEP = [
    "make the failing tests pass",
    "fix the failing tests",
    "change total so that the tests pass",
    "fix cart and make the tests pass",
    "do not change the tests",
    "don't update the tests",
    "change cart.py until the tests pass",
    "fix the tests",
    "the tests are failing",
    "edit cart.py, run the tests",
]


@pytest.mark.parametrize("prompt", REPAIRS)
def test_an_order_to_repair_is_recognised(prompt: str) -> None:
    assert read_intent(prompt).kind == "repair"


@pytest.mark.parametrize("prompt", NO_REPAIRS)
def test_no_question_and_no_other_work_is_taken_for_a_repair(prompt: str) -> None:
    assert read_intent(prompt).kind != "repair"


@pytest.mark.parametrize("prompt", PASSING)
def test_a_wish_for_passing_tests_is_recognised(prompt: str) -> None:
    assert read_intent(prompt).wants_passing_tests


@pytest.mark.parametrize("prompt", NOT_PASSING)
def test_talk_of_tests_is_no_wish_for_passing_tests(prompt: str) -> None:
    assert not read_intent(prompt).wants_passing_tests


@pytest.mark.parametrize("prompt", TESTS_TO_CHANGE)
def test_leave_to_change_tests_is_recognised(prompt: str) -> None:
    assert read_intents([prompt]).wants_changed_tests
    assert read_intents(["make it work", prompt]).wants_changed_tests, "also when it comes as steering"


@pytest.mark.parametrize("prompt", TESTS_TO_KEEP)
def test_a_wish_for_passing_tests_is_no_leave_to_change_them(prompt: str) -> None:
    assert not read_intents([prompt]).wants_changed_tests


def test_what_is_piped_or_quoted_asks_for_nothing() -> None:
    assert read_intent("fix the failing tests\n\n<stdin>\ndo not change anything\n</stdin>").kind == "repair"
    assert read_intent("fix the bug:\n```\n# do not change anything, add tests\n```").kind == "repair"
    assert not read_intents(["make it pass\n  | update the tests"]).wants_changed_tests


def test_a_forbidden_commit_is_no_forbidden_change() -> None:
    assert read_intent("fix the tests, but don’t commit").forbids_commit
    assert not read_intent("fix the tests, but do not commit").forbids_edits
    assert not read_intent("fix the tests and commit").forbids_commit


def test_failing_tests_are_wanted_where_the_prompt_is_about_them() -> None:
    failing = {"test_old.py::test_a", "test_cart.Test.test_total"}
    assert list_wanted_tests("add a comment", failing) == set()
    assert list_wanted_tests("mend the total", failing) == failing
    assert list_wanted_tests("make the tests pass", failing) == failing
    assert list_wanted_tests("make test_total pass", failing) == {"test_cart.Test.test_total"}
    assert list_wanted_tests("make test_other pass", failing) == set()
