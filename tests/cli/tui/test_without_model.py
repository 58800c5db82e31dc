"""A conversation without a model: what it can do, and what it leaves to the person."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import git
from tests.support.talking import ask, at_rest, leave
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

TEST = """\
from types import SimpleNamespace as Item

from cart import total


def test_total():
    assert total([Item(price=2), Item(price=3)]) == 5
"""


def test_it_says_what_it_can_do_and_commits_only_when_asked_to(shop: Path) -> None:
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test the total")
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=shop, env=cli.environment({}), columns=100, rows=40) as terminal:
        at_rest(terminal)
        for question in ("what can you do?", "help", "hello", "who are you?"):
            ask(terminal, question, "make the failing tests pass")
        ask(terminal, "what does cart.py do?", "1–2: def total(items)")
        assert any(row.strip() == "1–2: def total(items)" for row in terminal.everything.split("\n"))
        assert "✗" not in terminal.everything
        ask(terminal, "make the tests pass", "1 bug found and fixed")
        assert "✔ done" in terminal.everything
        assert "☐ Commit" not in terminal.everything
        assert " - 1" not in (shop / "cart.py").read_text()
        assert git(shop, "log", "--format=%s").split("\n")[0] == "Test the total"
        ask(terminal, "/undo", "as before the turn")
        ask(terminal, "make the tests pass and commit", "1 bug found and fixed")
        assert git(shop, "log", "--format=%s").split("\n")[0] == "Fix total"
        leave(terminal)
