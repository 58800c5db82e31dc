"""`/requirements` in the terminal: added, checked at the end of the turn, shown, and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import AT_SIZES, ask, at_rest, leave, talk

pytestmark = pytest.mark.slow


@AT_SIZES
def test_requirements_are_seen_edited_and_checked(columns: int, rows: int, shop: Path) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
        {"text": "It adds up."},
        {"text": "It stays.", "expect": ["cart.py was changed"]},
    ]
    with talk(shop, turns, "--tests", "true", columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        ask(terminal, "/requirements", "no requirements")
        ask(terminal, "/requirements add never touch cart.py", "r1 never")
        ask(terminal, "/requirements add it is quick", "r2 it")
        ask(terminal, "/requirements drop r7", "no requirement")
        ask(terminal, "mend it", "It stays.")
        assert "r1 [static]" in terminal.everything
        assert "cart.py was changed" in terminal.everything
        assert "1 not met, 1 not checked" in terminal.everything
        assert max(map(len, terminal.text.split("\n"))) <= columns
        leave(terminal)
