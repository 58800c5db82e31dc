"""Conversations on a real terminal: a small shop to work in, a scripted model, and what a person waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import (
    ActionEvent,
    AskedAction,
    End,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
)
from agent.session.log import Session
from cli.tui.screen.working_line import SPINNER
from tests.support import cli
from tests.support.cli import git, script
from tests.support.terminal import PATIENCE, Terminal

SIZES = ((40, 15), (80, 24), (250, 60))
"""Columns and rows of the windows in which all is tried, growing: a model of the screen that shrinks drops lines."""

AT_SIZES = pytest.mark.parametrize(("columns", "rows"), SIZES)

CART = """\
def total(items):
    return sum(item.price for item in items) - 1
"""


def make_shop(root: Path) -> Path:
    """A repository with two files and one commit."""
    root.mkdir()
    git(root, "init", "-q")
    (root / "cart.py").write_text(CART)
    (root / "order.py").write_text("STATUS = 'open'\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "Start")
    return root


def talk(
    root: Path,
    turns: Sequence[Mapping[str, Any]],
    *arguments: str,
    columns: int = 80,
    rows: int = 24,
    **env: str,
) -> Terminal:
    """The program on a terminal, with a model that plays `turns`."""
    model = script(root.parent, turns)
    argv = [*cli.PATCHWRIGHT, *arguments, "--model", model]
    return Terminal(argv, cwd=root, env=cli.environment(env), columns=columns, rows=rows)


SIGN = "❯"
"""What stands before the prompt."""

PURPOSES = ("say what to do, or / for commands", "say what to plan")
"""What stands in an empty prompt while nothing is done."""


def ready(terminal: Terminal) -> bool:
    """The prompt is empty, nothing is being done above it, and the footer stands below it."""
    lines = ["", "", "", *terminal.text.split("\n")]
    if _is_rule(lines[-2]) and _is_rule(lines[-4]):  # left out in a low window
        lines = [*lines[:-4], lines[-3], lines[-1]]
    *above, blank, prompt, footer = lines
    idle = not any(line.startswith((*SPINNER, "queued: ")) for line in above)
    return (
        prompt in [f"{SIGN} {each}"[: len(prompt)] for each in PURPOSES]
        and len(prompt) > len(SIGN)
        and blank == ""
        and idle
        and footer != ""
        and not footer.startswith("opening")
    )


def _is_rule(line: str) -> bool:
    return len(line) > 1 and set(line) == {"─"}


def at_rest(terminal: Terminal) -> None:
    """Wait until it is ready."""
    terminal.wait(lambda: ready(terminal))


def prompted(terminal: Terminal) -> str:
    """The row of the prompt, without its sign: what was sent before stands above it."""
    lines = reversed(terminal.text.split("\n"))
    typed = next((line[2:] for line in lines if line[:2] in (SIGN, f"{SIGN} ")), "")
    return "" if typed.startswith((*PURPOSES, "say more; ")) else typed


def below(terminal: Terminal, typed: str) -> str:
    """What stands below the prompt, as what it can be completed with; nothing until that is typed in it."""
    text = terminal.text.rpartition(f"\n{SIGN} {typed}\n")[2] if prompted(terminal) == typed else ""
    return text.partition("\n")[2] if _is_rule(text.partition("\n")[0]) else text


def cleared(terminal: Terminal, key: str = "\x15") -> None:
    """Send a key that empties the prompt, and wait until it is."""
    terminal.type(key)
    at_rest(terminal)


def ask(terminal: Terminal, prompt: str, answer: str) -> None:
    """Send a prompt, and wait for its answer (a new one: not what stood there, or was typed) and the next prompt."""
    there = terminal.everything.count(answer) + prompt.count(answer)
    terminal.type(f"{prompt}\r")
    terminal.wait(lambda: terminal.everything.count(answer) > there and ready(terminal))


def leave(terminal: Terminal) -> None:
    """End the conversation as a person does."""
    terminal.type("/quit\r")
    assert terminal.wait_for_end() == 0


def logs() -> list[Path]:
    """The logs of all sessions, oldest first."""
    home = Path(cli.environment()["PATCHWRIGHT_HOME"])
    return sorted(home.glob("data/projects/*/sessions/*/log.jsonl"), key=lambda path: path.stat().st_mtime)


def log_of(root: Path) -> list[dict[str, Any]]:
    """The events of the only session."""
    [path] = logs()
    return [json.loads(line) for line in path.read_text().splitlines()]


def prompts(root: Path) -> list[str]:
    """What was asked for in the only session."""
    return [event["text"] for event in log_of(root) if event["kind"] == "prompt"]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that is not seen on the screen."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def long_session(root: Path, steps: int) -> str:
    """A session with so many steps in the project around `root`; returns its id."""
    session = Session.create(Home.from_environment().get_project_folder(root.resolve()) / "sessions")
    session.subscribe(lambda event: None)
    session.append(
        SessionStart(session=session.id, project=str(root), model="scripted", mode="workspace", version="0")
    )
    session.append(Prompt(text="the very first words"))
    for number in range(steps):
        asked = AskedAction(id=f"c{number}", tool="shell", arguments={"command": f"true {number}"})
        session.append(MessageEvent(actions=[asked]))
        session.append(ActionEvent(call=asked.id, tool="shell", effect="execute"))
        session.append(
            ObservationEvent(call=asked.id, tool="shell", text=f"exit 0\noutput {number}", data={"exit": 0})
        )
    session.append(MessageEvent(text="All of it is done."))
    session.append(End(outcome="done", steps=steps))
    session.close()
    return session.id
