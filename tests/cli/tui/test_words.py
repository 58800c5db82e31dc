"""Plain lines for screen readers: words in place of marks, no drawing, and nothing that is written twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call
from tests.support.talking import talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

OWN = "café ✔"
"""What the user's file says stays as it is written."""

TURNS: Sequence[Mapping[str, Any]] = [
    {"text": "I look.", "calls": [call("read", path="cart.py", start=1, end=2)]},
    {"calls": [call("plan", items=[{"text": "one", "status": "done"}, {"text": "two", "status": "doing"}])]},
    {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
    {"calls": [call("shell", command="echo one; false\ntrue")]},
    {"calls": [call("read", path="missing.py")]},
    {"text": f"It says {OWN}."},
]


COMMANDS = {
    "/status": ("mode  ", 1),
    "/help": ("/quit  ", 1),
    "/diff": ("@@ -1,2 +1,2 @@", 2),
    "/sessions": ("go on with one: /resume", 1),
}
"""By command, what is seen when it has ended, and how often by then."""


def find_signs(terminal: Terminal) -> set[str]:
    """The characters that were written beside ASCII and the user's own, and whatever moves the cursor."""
    text = terminal.raw.decode().replace(OWN, "")
    return {each for each in text if not each.isascii() or (each < " " and each not in "\r\n\t")}


@pytest.mark.parametrize(
    ("term", "options", "columns"),
    [("dumb", [], 80), ("xterm-256color", ["--plain"], 120)],
)
def test_a_conversation_in_plain_lines_has_words_for_marks(
    term: str, options: Sequence[str], columns: int, shop: Path
) -> None:
    with talk(
        shop, TURNS, "--mode", "workspace", "--tests", "true", *options, columns=columns, rows=40, TERM=term
    ) as terminal:
        terminal.wait(">")
        terminal.type("mend the cart\n")
        terminal.wait(lambda: f"It says {OWN}." in terminal.everything and "done, " in terminal.everything)
        for command, (told, times) in COMMANDS.items():
            terminal.type(f"{command}\n")
            terminal.wait_beside(lambda told=told, times=times: terminal.everything.count(told) >= times)  # type: ignore[misc]
        terminal.type("/quit\n")
        assert terminal.wait_for_end() == 0
        assert find_signs(terminal) == set()
        seen = terminal.everything
    for word in ("step: read", "failed: read", "done: one", "at work: two"):
        assert word in seen, seen


def test_a_run_on_a_dumb_terminal_has_words_for_marks(shop: Path) -> None:
    with talk(shop, TURNS, "run", "mend the cart", "--tests", "true", TERM="dumb") as terminal:
        terminal.wait_for_end()
        assert find_signs(terminal) == set()
        seen = terminal.everything
    for word in ("step: read", "failed: read", "done: one", "at work: two"):
        assert word in seen, seen
