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
def test_the_next_line_is_the_answer(shop: Path, columns: int, rows: int) -> None:
    turns = [
        {"calls": [call("ask_user", questions=[TAX, FILES, {"question": "What name?"}])]},
        {
            "text": "So it is.",
            "expect": ["- Gross or net? net", "- Which files? cart.py, order.py", "- What name? Ann, please"],
        },
        {"calls": [call("ask_user", question="Really?")], "expect": ["What only the user can decide"]},
        {"text": "The plan is short.", "expect": ["The user answers: yes"]},
    ]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("which total?\r")
        terminal.wait("Gross or net?")
        terminal.wait("1. gross")
        terminal.wait("2. net")
        terminal.type("2\r")
        terminal.wait("2. order.py")
        terminal.type("1,2\r")
        terminal.wait("What name?")
        terminal.type("Ann, please\r")
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
