"""Plain lines for screen readers: words in place of marks, no drawing, and nothing that is written twice."""

from __future__ import annotations

import os
import signal
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
        terminal.wait(lambda: f"It says {OWN}." in terminal.everything and is_prompting(terminal))
        for command, (told, times) in COMMANDS.items():
            terminal.type(f"{command}\n")
            terminal.wait(
                lambda told=told, times=times: (  # type: ignore[misc]
                    terminal.everything.count(told) >= times and is_prompting(terminal)
                )
            )
        terminal.type("/quit\n")
        assert terminal.wait_for_end() == 0
        assert find_signs(terminal) == set()
        seen = terminal.everything
    for word in ("step: read", "failed: read", "done: one", "at work: two"):
        assert word in seen, seen
    assert list_prompt_rows(seen) == ["mend the cart", *COMMANDS, "/quit"]


def is_prompting(terminal: Terminal) -> bool:
    return terminal.text.endswith("\n>")


def list_prompt_rows(seen: str) -> list[str]:
    """What stands beside the prompts."""
    return [row[1:].strip() for row in seen.split("\n") if row.startswith(">")]


def test_what_is_said_unasked_stands_below_the_prompt_not_beside_it(shop: Path) -> None:
    """A turn that was cut off, and a note that is written while nothing else is done."""
    held = call("shell", command="touch begun; sleep 300")
    with talk(shop, [{"calls": [held]}], "--plain", "--tests", "true") as terminal:
        terminal.wait(">")
        terminal.type("mend the cart\n")
        terminal.wait_beside((shop / "begun").exists)
        os.kill(terminal.pid, signal.SIGKILL)
    plain = {"PATCHWRIGHT_TERMINAL__PLAIN": "true"}
    with talk(shop, TURNS, "resume", "--tests", "true", columns=120, **plain) as terminal:
        terminal.wait("l = Leave it")
        terminal.type("l\n")
        terminal.wait(lambda: "nothing was done" in terminal.text and is_prompting(terminal))
        terminal.type("# the cart is mended by hand\n")
        terminal.wait(lambda: "added to AGENTS.md" in terminal.text and is_prompting(terminal))
        terminal.type("/quit\n")
        assert terminal.wait_for_end() == 0
        assert [row for row in list_prompt_rows(terminal.everything) if row] == [
            "mend the cart",  # of the past
            "# the cart is mended by hand",
            "/quit",
        ]


def test_a_run_on_a_dumb_terminal_has_words_for_marks(shop: Path) -> None:
    with talk(shop, TURNS, "run", "mend the cart", "--tests", "true", TERM="dumb") as terminal:
        terminal.wait_for_end()
        assert find_signs(terminal) == set()
        seen = terminal.everything
    for word in ("step: read", "failed: read", "done: one", "at work: two"):
        assert word in seen, seen
