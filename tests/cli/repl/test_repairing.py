"""/localize and /repair: what the offline engine finds, in the middle of a conversation with a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import git
from tests.support.golden import looks_as_it_did
from tests.support.talking import ask, at_rest, leave, talk

pytestmark = pytest.mark.slow

TEST = """\
from types import SimpleNamespace as Item

from cart import total


def test_total():
    assert total([Item(price=2), Item(price=3)]) == 5
"""


def test_a_fault_is_found_and_mended_without_the_model(shop: Path) -> None:
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test the total")
    with talk(shop, [{"text": "Thank you."}], columns=100, rows=40) as terminal:
        at_rest(terminal)
        ask(terminal, "/localize", "cart.py:2")
        terminal.type("/repair\r")
        for seen in ("test_cart.py::test_total", "1 fix", "● edit cart.py", "✔ done"):  # each takes its time
            terminal.wait(seen)
        at_rest(terminal)
        looks_as_it_did(terminal, "repaired-100x40")
        assert " - 1" not in (shop / "cart.py").read_text()
        ask(terminal, "/undo", "as before that turn")
        assert " - 1" in (shop / "cart.py").read_text()
        ask(terminal, "well done", "Thank you.")  # the session's own model answers again
        leave(terminal)
