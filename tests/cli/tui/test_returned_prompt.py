"""Esc before anything was done gives back the line that began the turn, whichever way it was sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.talking import ask, at_rest, cleared, leave, prompted, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

LATE = {"text": "Too late.", "delay": 60}


def stop(terminal: Terminal, given_back: str) -> None:
    """Stop a turn that waits for its first answer."""
    terminal.wait("esc to stop")
    terminal.type("\x1b")
    terminal.wait(lambda: "esc to stop" not in terminal.text and prompted(terminal) == given_back)


@pytest.mark.parametrize("line", ["/plan mend the total", "/own the total", "mend the total"])
def test_a_command_comes_back_as_it_was_typed(shop: Path, line: str) -> None:
    commands = Home.from_environment().config / "commands"
    commands.mkdir(parents=True)
    (commands / "own.md").write_text("Mend $ARGUMENTS.\n")
    with talk(shop, [LATE, {"text": "Hello."}]) as terminal:
        at_rest(terminal)
        terminal.type(f"{line}\r")
        stop(terminal, line)
        cleared(terminal, "\x03")
        ask(terminal, "/cost", "call")  # it stops no turn, and comes back with none
        leave(terminal)


def test_a_prompt_that_waited_for_a_command_comes_back(shop: Path) -> None:
    with talk(shop, [LATE], "--tests", "true") as terminal:
        at_rest(terminal)
        terminal.type("!touch begun; until test -e go; do sleep 0.05; done\r")
        terminal.wait_beside((shop / "begun").exists)
        terminal.type("mend the total\r")
        terminal.wait("queued: mend the total")
        (shop / "go").touch()
        terminal.wait(lambda: "queued" not in terminal.text and "Thinking" in terminal.text)
        stop(terminal, "mend the total")
        cleared(terminal, "\x03")
        leave(terminal)
