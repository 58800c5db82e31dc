"""Questions of a model on a real terminal, at three sizes: options by number, several, one's own words, plan mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import AT_SIZES, at_rest, leave, talk

pytestmark = pytest.mark.slow

TAX = {"question": "Gross or net?", "options": ["gross: with the tax of the country", "net: without any tax"]}
FILES = {"question": "Which files?", "options": ["cart.py", "order.py"], "several": True}


@AT_SIZES
def test_options_are_chosen_by_keys_and_words_are_typed(shop: Path, columns: int, rows: int) -> None:
    turns = [
        {"calls": [call("ask_user", questions=[TAX, FILES, {"question": "What name?"}])]},
        {
            "text": "So it is.",
            "expect": [
                "- Gross or net? net",
                "- Which files? cart.py, order.py",
                "- What name? 2 Anns, please",
            ],
        },
        {"calls": [call("ask_user", question="Really?")], "expect": ["What only the user can decide"]},
        {"text": "The plan is short.", "expect": ["The user answers: yes"]},
    ]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("which total?\r")
        terminal.wait("The model asks · 1 of 3")
        terminal.wait("Gross or net?")
        terminal.wait("net")
        terminal.type("\x1b[B\r")
        terminal.wait("The model asks · 2 of 3")
        assert "❯ net" in terminal.everything, "the answer stays in sight"
        terminal.wait("❯ 1 ☐ cart.py" if rows > 15 else "1 ☐ cart.py")
        terminal.type("1,2")
        terminal.wait(lambda: terminal.text.count("☑") == 2)
        terminal.type("\r")
        terminal.wait("What name?")
        terminal.type("2 Anns, please\r")
        terminal.wait("So it is.")
        at_rest(terminal)
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("/plan\r")
        terminal.wait("plan ·")
        at_rest(terminal)
        terminal.type("plan it\r")
        terminal.wait("Really?")
        terminal.type("yes\r")
        terminal.wait("What now?")
        terminal.type("\x1b[B\x1b[B\x1b[B\r")  # the last: leave plan mode
        terminal.wait("plan mode is off")
        at_rest(terminal)
        leave(terminal)


@AT_SIZES
def test_several_answers_are_marked_and_own_words_added(shop: Path, columns: int, rows: int) -> None:
    down = "\x1b[B"
    turns = [
        {"calls": [call("ask_user", questions=[FILES])]},
        {"calls": [call("ask_user", questions=[FILES])], "expect": ["The user answers: order.py"]},
        {"calls": [call("ask_user", questions=[FILES])], "expect": ["The user answers: cart.py, and tax.py"]},
        {"text": "So it is.", "expect": ["The user gave no answer"]},
    ]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("which files?\r")
        terminal.wait("order.py")
        terminal.type(" ")
        terminal.wait("☑ cart.py")
        terminal.type(f" {down} ")  # unmarked again, and the second marked
        terminal.wait("☑ order.py")
        assert "☐ cart.py" in terminal.text
        terminal.type("\r")
        terminal.wait(lambda: "❯ order.py" in terminal.everything and "☐ order.py" in terminal.text)
        terminal.type("1")
        terminal.wait("☑ cart.py")
        terminal.type(f"{down}{down}\r")
        terminal.wait("your answer:")
        terminal.type("and tax.py\r")
        terminal.wait(lambda: "❯ cart.py, and tax.py" in terminal.everything and "☐ cart.py" in terminal.text)
        terminal.type("1\x1b")
        terminal.wait("So it is.")
        assert "left to the model" in terminal.everything
        at_rest(terminal)
        leave(terminal)


def test_own_words_are_typed_at_once_and_esc_leaves_it_to_the_model(shop: Path) -> None:
    ask = call("ask_user", questions=[TAX])
    turns = [
        {"calls": [ask]},
        {"calls": [ask], "expect": ["The user answers: Very net, please"]},
        {"text": "As I think.", "expect": ["The user gave no answer"]},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("which total?\r")
        terminal.wait("1  gross: with the tax of the country")
        terminal.type("Very net, please")
        terminal.wait("Very net, please")
        terminal.type("\r")
        terminal.wait(
            lambda: "❯ Very net, please" in terminal.text and "Esc: leave it to the model" in terminal.text
        )
        terminal.type("\x1b")
        terminal.wait("As I think.")
        at_rest(terminal)
        leave(terminal)
