"""A wish to repair is told from a question, on phrasings of which one half was held out while it was written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent.prompt.prompt_reader import read_intent
from cli.tui.conversation.plan_mode import ASKED
from packages.offline.model.intent.chosen_wish import ANSWER_CHOSEN, REPAIR_CHOSEN, decide_wish
from packages.offline.model.intent.question_topics import find_names, read_question
from tests.support.cli import CHECKOUT

Row = tuple[str, str, str]

KINDS = {"answer": "question", "change": "other", "task": "other"}
"""Words of the phrasings for kinds of intents."""

LINES = (CHECKOUT / "tests/agent/prompt/prompt_phrasings.tsv").read_text("utf-8").splitlines()
ROWS: list[Row] = [
    (kind, topic, prompt)
    for kind, topic, prompt in (line.split("\t") for line in LINES if not line.startswith("#"))
]
DEVELOPMENT, HELD_OUT = ROWS[::2], ROWS[1::2]


def classify_prompt(prompt: str) -> str:
    kind = read_intent(prompt).kind
    return KINDS.get(kind, kind)


QUESTIONS_LIKE_ORDERS = [
    "Can you fix it or does it need a model?",
    "You could fix test_total by changing cart.py, right?",
    "fix the tests - is that possible?",
    "Would fixing test_total break anything?",
    "To fix the test, what do I change?",
    "If I fix total, will test_total pass?",
    "I'd like to know why total fails and how to fix it",
    "please tell me how to find the bug and fix it",
    "ensure I understand why the tests pass",
    "My colleague said: fix the tests. Why do they fail?",
    'The ticket says "fix the rounding". Where is the rounding done?',
    "is it possible to make test_total pass without changing cart.py?",
    "before you fix anything: why does test_total fail?",
    "I don't want you to fix it, I want to know why it fails",
    "not a fix please, an explanation",
    "stop fixing things",
    "never mind fixing it, what does total do?",
    "I'll fix it myself, just tell me where",
    "we fixed the tests yesterday",
    "someone should fix test_total",
    "Fixing bugs is fun",
    "fix?",
    "fix it, or is it hard?",
    "put it in the right file",
    "Fix class: who uses it?",
    "fix() returns None, why?",
    "resolve: what does it do?",
    "correct, and why?",
]
"""None of them asks for a change now."""


def test_the_phrasings_are_many_and_differ() -> None:
    assert len(ROWS) >= 300
    assert len({prompt.lower() for _, _, prompt in ROWS}) >= len(ROWS) - 2, "but for capitals"
    assert {kind for kind, _, _ in ROWS} == {"repair", "question", "other", "unclear"}


@pytest.mark.parametrize(
    ("rows", "least"), [(DEVELOPMENT, 1.0), (HELD_OUT, 0.97)], ids=["development", "held out"]
)
def test_kinds_are_recognised(rows: Sequence[Row], least: float) -> None:
    wrong = [(kind, classify_prompt(prompt), prompt) for kind, _, prompt in rows]
    wrong = [each for each in wrong if each[0] != each[1]]
    assert 1 - len(wrong) / len(rows) >= least, wrong


def test_nothing_but_a_wish_to_repair_starts_a_repair() -> None:
    others = [prompt for kind, _, prompt in ROWS if kind != "repair"]
    assert [
        prompt for prompt in (*others, *QUESTIONS_LIKE_ORDERS) if classify_prompt(prompt) == "repair"
    ] == []


@pytest.mark.parametrize("rows", [DEVELOPMENT, HELD_OUT], ids=["development", "held out"])
def test_topics_are_recognised(rows: Sequence[Row]) -> None:
    asked = [(topic, read_question(prompt), prompt) for kind, topic, prompt in rows if kind == "question"]
    wrong = [
        (topic, found.topic if found else None, prompt)
        for topic, found, prompt in asked
        if found is None or found.topic != topic
    ]
    assert 1 - len(wrong) / len(asked) >= 0.95, wrong


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("in which file is total implemented?", ["total"]),
        ("what does tests/test_cart.py::test_total check?", ["tests/test_cart.py::test_total"]),
        ("who calls `Cart.total`?", ["Cart.total"]),
        ("explain the function applyDiscount to me", ["applyDiscount"]),
        ("what does shop/cart.py do?", ["shop/cart.py"]),
        ("why do the tests fail?", []),
    ],
)
def test_names_are_read(prompt: str, names: list[str]) -> None:
    assert find_names(prompt) == names


def test_a_prompt_that_forbids_changes_is_a_question_whatever_else_it_says() -> None:
    for prompt in (
        "make the tests pass, but write nothing",
        "fix it. No edits!",
        "repariere nichts, erklär es nur",
    ):
        assert read_intent(prompt).forbids_edits or classify_prompt(prompt) == "question"
        assert classify_prompt(prompt) == "question", prompt


def test_a_repair_that_may_not_be_written_is_asked_for_as_a_suggestion() -> None:
    for prompt in ("make the tests pass, but do not change any file", "fix test_total. No edits!"):
        question = read_question(prompt)
        assert question is not None
        assert question.topic == "fix"


@pytest.mark.parametrize(
    ("prompt", "topic"),
    [
        ("Which structure stores headers without regard to case?", "words"),
        ("what is the structure?", "overview"),
        ("explain the structure of this project", "overview"),
        ("how is the code structured?", "overview"),
    ],
)
def test_a_structure_of_the_code_is_not_that_of_the_project(prompt: str, topic: str) -> None:
    question = read_question(prompt)
    assert question is not None
    assert question.topic == topic


def test_a_report_of_a_bug_is_a_wish_whatever_sentences_it_holds() -> None:
    report = "word " * 90
    for prompt in (
        "there is a bug: the receipt is wrong. When I pay, it fails. How it is computed I do not know.",
        "Bug: cart total\n\nHow to reproduce: call total([1]). Expected 1, got 0.",
        f"Fix: the total\n\n{report} and you do not write the file.\n\nThanks",
    ):
        assert classify_prompt(prompt) == "repair", prompt


def test_no_question_is_verified_by_a_run_of_the_tests() -> None:
    questions = [prompt for kind, _, prompt in ROWS if kind == "question"]
    assert [each for each in questions if read_intent(each).wants_passing_tests] == []


def test_what_the_person_has_chosen_decides() -> None:
    assert decide_wish("the tests are failing", []) == "unclear"
    assert decide_wish("the tests are failing", [REPAIR_CHOSEN]) == "repair"
    assert decide_wish("the tests are failing", [ANSWER_CHOSEN]) == "answer"


def test_plan_mode_makes_a_wish_a_question() -> None:
    assert decide_wish("make the failing tests pass", [ASKED]) == "answer"
    assert decide_wish("add a dark mode", [ASKED]) == "change"


EXERCISE = """# Instructions

How many eggs are in the coop? Count the bits that are set in a number.
{story}

Write the solution into `eggs.py`, which has only a stub. The tests
in `eggs_test.py` have to pass; leave them as they are."""


def test_a_long_description_that_ends_in_an_order_is_work_for_a_model() -> None:
    prompt = EXERCISE.format(story="The farmer notes which places are taken. " * 15)
    assert not read_intent(prompt).forbids_edits
    assert classify_prompt(prompt) == "other"
    assert classify_prompt(prompt.replace("Write", "Why is nobody able to write")) == "question"


def test_sparing_the_tests_forbids_no_repair() -> None:
    assert classify_prompt("Fix cart.py. The tests are right, leave them alone.") == "repair"
    assert classify_prompt("Fix the total, but leave it alone.") == "question"


@pytest.mark.parametrize(
    "prompt",
    [
        "cart.py fails its tests, leave it as it is.",
        "Find the bug in cart.py that makes the tests fail but leave it alone.",
        "Run the code and its tests, but leave them as they are.",
        "The tests are for cart.py, leave it alone.",
    ],
)
def test_a_word_on_tests_lifts_no_ban_on_changes_of_code(prompt: str) -> None:
    assert read_intent(prompt).forbids_edits


@pytest.mark.parametrize(
    "prompt",
    [
        "Create a file cart_utils.py, move the functions there, and don't change their names",
        "Add a method to Cart; do not touch the README",
        f"{'The bucket is emptied, with no change to the other one. ' * 12}\n\nImplement it in `bucket.py`.",
        f"{'Report the bytes that were read. ' * 16}\n\nWrite the solution into `net.py`. The tests in "
        "`net_test.py` and `test_utils.py` have to pass; leave them as they are.",
    ],
)
def test_work_that_spares_something_is_no_question(prompt: str) -> None:
    assert classify_prompt(prompt) == "other"


@pytest.mark.parametrize(
    "prompt",
    [
        "write nothing, just explain test_total",
        "Document what total does without changing anything",
        "Rename total to sum? Don't change anything, only tell me what would break",
        "delete no files; which tests fail?",
    ],
)
def test_a_question_that_forbids_changes_stays_one_whatever_it_begins_with(prompt: str) -> None:
    assert classify_prompt(prompt) == "question"
