"""A commit message by a model: its form is taken off, and what is no message for this change is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.git.git_change import Change
from tools.git.git_process import Git
from tools.git.messages.message_prompts import build_message_prompt
from tools.git.messages.message_style import Style, infer_style
from tools.git.messages.model_message import drop_repeated_paragraphs, judge_message, parse_message

OLD = b"def total(items):\n    return items[0]\n"
NEW = b"def total(items):\n    return sum(items)\n"
REQUEST = "Two tests fail: make all of them pass, and change nothing else."


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> Change:
    return Change.from_contents(
        Git(tmp_path_factory.mktemp("work"), alone=True), {"shop/cart.py": (OLD, NEW)}
    )


def is_used(change: Change, answer: str, style: Style | None = None, request: str = REQUEST) -> bool:
    return judge_message(parse_message(answer), change, style or Style(), request)


@pytest.mark.parametrize(
    "answer",
    [
        "Sum all items of a cart",
        "```\nSum all items of a cart\n```",
        "```text\nSum all items of a cart",
        "Here is the commit message:\n\n```\nSum all items of a cart\n```\nIt says what changes.",
        "Commit message: Sum all items of a cart",
        "**Subject:** Sum all items of a cart",
        '"Sum all items of a cart"',
        "“Sum all items of a cart”",
        "`Sum all items of a cart`",
        "- Sum all items of a cart",
        "# Sum all items of a cart",
        'git commit -m "Sum all items of a cart"',
        "Sum all items of a cart\n\nSum all items of a cart.",
        "Sum all items of a cart\n\nBody:",
        "<think>It sums.\n\nSo be it.</think>\nSum all items of a cart",
        '{"subject": "Sum all items of a cart", "body": ""}',
        '{"message": "Sum all items of a cart"}',
        '```git commit -m "Sum all items of a cart"```',
        'Commit message: "Sum all items of a cart"',
        "<commit_message>\nSum all items of a cart\n</commit_message>",
        "Sum all items of a cart\n\nSigned-off-by: Ann <ann@example.org>\nCo-authored-by: Bob <bob@example.org>",
    ],
)
def test_the_form_around_a_message_is_taken_off(change: Change, answer: str) -> None:
    assert str(parse_message(answer)) == "Sum all items of a cart"
    assert is_used(change, answer)


def test_a_body_that_says_more_is_kept_and_its_code_as_well() -> None:
    text = "Sum all items\n\nThe first one alone was returned.\n\n```python\nsum(items)\n```"
    assert str(parse_message(text)) == text
    assert str(parse_message(f"{text}\n\nSum all items.")) == text


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Done.",
        "Total: at most 72 characters, imperative mood, change the " + "sum of the items in the cart, " * 10,
        "Sum " + "items " * 12,
        build_message_prompt(Style(), ""),
        "at most 72 characters, imperative mood",
        "what the change does for its reader",
        "make all of them pass",
        "Two tests fail",
        "All checks are green now",
        "I changed total to sum the items",
        "Sure! The sum of items",
        "The commit message says that items are summed",
        "This change sums the items",
        "Task: sum the items",
        "Refactor the database layer",
        "Update code",
    ],
)
def test_what_is_no_message_for_the_change_is_not_used(change: Change, answer: str) -> None:
    assert not is_used(change, answer)


def test_the_words_of_the_request_are_used_where_they_name_what_changed(change: Change) -> None:
    assert is_used(change, "Make total sum its items", request="make total sum its items, please")
    assert not is_used(change, "Sum all of the items", request="sum all of the items")


def test_the_conventions_of_the_log_are_kept(change: Change) -> None:
    style = infer_style([f"feat(cart): add number {number}" for number in range(12)])
    assert is_used(change, "fix(cart): sum all items", style)
    assert not is_used(change, "Sum all items", style)
    assert not is_used(change, "feat(cart): add number 3", style)


@pytest.mark.parametrize("subject", ["修复购物车总价的计算", "合計を正しく計算する"])
def test_a_subject_in_another_script_is_used(change: Change, subject: str) -> None:
    assert is_used(change, subject)
    assert not is_used(change, subject * 9)


def test_words_match_without_their_ends(tmp_path: Path) -> None:
    rounded = Change.from_contents(
        Git(tmp_path, alone=True), {"a.py": (b"x = amount\n", b"x = round(amount, 2)\n")}
    )
    assert is_used(rounded, "Keep prices with rounding")


def test_a_message_with_hidden_characters_is_not_used(change: Change) -> None:
    assert not is_used(change, "Sum all items of a cart\u202e.gnihton")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Return 2\n\nReturn 2.", "Return 2"),
        ("Return 2\n\n- return 2", "Return 2"),
        ("Return 2 from f\n\nReturn 2", "Return 2 from f"),
        ("Return 2\n\nThe sum was off.\n\nThe sum was off.", "Return 2\n\nThe sum was off."),
        ("Gib 2 zurück\n\nGib 2 zurück!", "Gib 2 zurück"),
        ("Return 2\n\nReturn 2 from f, which was off.", "Return 2\n\nReturn 2 from f, which was off."),
        ("Return 2\n\nRefs: #4", "Return 2\n\nRefs: #4"),
        ("Return 2", "Return 2"),
    ],
)
def test_a_body_says_more_or_is_not_there(given: str, kept: str) -> None:
    assert drop_repeated_paragraphs(given) == kept
