"""`/attempts`: one row for each attempt while they run, then all of them with the reason of the choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import AT_SIZES, ask, at_rest, leave, logs, talk

pytestmark = pytest.mark.slow


@AT_SIZES
def test_attempts_are_shown_while_they_run_and_the_best_is_applied(
    columns: int, rows: int, shop: Path
) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")], "expect": ["mend the cart"]},
        {"text": "It adds up.", "delay": 1},
    ]
    with talk(shop, turns, "--tests", "true", columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        ask(terminal, "/attempts", "this session has made no")
        terminal.type("/attempts 2 mend the cart\r")
        terminal.wait("attempt 1: step 2")
        terminal.wait("is applied: 2 attempts")
        terminal.wait("It adds up.")
        at_rest(terminal)
        assert "attempt 2: passed" in terminal.everything
        assert " - 1" not in (shop / "cart.py").read_text()
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("/attempts\r")
        terminal.wait("2 of 2 ")  # in the order in which they began
        terminal.type("1\r")
        terminal.wait("end · ")
        terminal.type("q")
        at_rest(terminal)
        ask(terminal, "/undo", "cart.py")
        leave(terminal)
    assert " - 1" in (shop / "cart.py").read_text()
    first = [json.loads(path.read_text().splitlines()[0]) for path in logs()]
    assert sum(each.get("started_by") is not None for each in first) == 2
