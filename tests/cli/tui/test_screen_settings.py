"""Settings of the terminal act on the screen, whether the environment or the user's file gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from tests.support.cli import call, git
from tests.support.talking import at_rest, leave, prompted, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

CHOSEN: Mapping[str, Any] = {
    "theme": "light",
    "editing": "vi",
    "notify": "osc9",
    "footer": "{folder} | {model}",
    "pause": 0,
    "keys": {"unfold": ["f2"]},
}
EDIT = {"calls": [call("edit", path="cart.py", old=" - 1", new="")]}
FETCH = {"calls": [call("shell", command="git fetch --prune origin")]}
LIGHT_GREEN = "d7ffd7"
"""Colour 194 of 256, as pyte names it."""


def give(source: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Give settings by a source; return the environment of the program."""
    shown = {
        name: "{ unfold = ['f2'] }" if name == "keys" else json.dumps(value) for name, value in values.items()
    }
    if source == "environment":
        return {f"PATCHWRIGHT_TERMINAL__{name.upper()}": text.strip('"') for name, text in shown.items()}
    config = Home.from_environment().config
    config.mkdir(parents=True)
    rows = [f"{name} = {text}" for name, text in shown.items()]
    (config / "settings.toml").write_text("\n".join(["[terminal]", *rows, ""]))
    return {}


@pytest.mark.parametrize("source", ["environment", "file"])
def test_each_setting_is_seen(shop: Path, source: str) -> None:
    env = give(source, CHOSEN)
    with talk(shop, [EDIT, FETCH, {"text": "Done so."}], "--tests", "true", rows=40, **env) as terminal:
        terminal.wait("shop | scripted:")
        terminal.wait("❯ say what to do")
        terminal.type("go on\x1b")
        terminal.wait(lambda: prompted(terminal) == "go on")
        terminal.type("0dw")  # vi's: the first word is gone
        terminal.wait(lambda: prompted(terminal) == "on")
        terminal.type("\r")
        terminal.wait("Allow shell?")
        terminal.wait_beside(lambda: b"\x1b]9;Patchwright: " in terminal.raw)
        terminal.type("n")
        terminal.wait("Done so.")
        at_rest(terminal)
        assert find_ground(terminal, "return sum(") == LIGHT_GREEN
        terminal.type("\x1bOQ")  # F2
        terminal.wait("end · ")
        terminal.type("q")
        at_rest(terminal)
        leave(terminal)  # a new prompt begins in vi's insert mode


def find_ground(terminal: Terminal, text: str) -> str:
    """The background of the added row with this text."""
    place = next(y for y, row in enumerate(terminal.screen.display) if text in row and "+" in row)
    return str(terminal.screen.buffer[place][10].bg)


@pytest.mark.parametrize("source", ["environment", "file"])
def test_plain_lines_are_chosen_without_the_option(shop: Path, source: str) -> None:
    env = give(source, {"plain": True})
    with talk(shop, [{"text": "Done so."}], **env) as terminal:
        terminal.wait(">")
        terminal.type("go on\n")
        terminal.wait("Done so.")
        terminal.type("/quit\n")
        assert terminal.wait_for_end() == 0
    assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("source", ["environment", "file"])
@pytest.mark.parametrize(("theme", "ground"), [("light", LIGHT_GREEN), ("mono", "default")])
def test_commands_beside_the_conversation_have_the_theme(
    shop: Path, source: str, theme: str, ground: str
) -> None:
    env = give(source, {"theme": theme})
    with talk(
        shop, [EDIT, {"text": "Done so."}], "run", "go on", "--tests", "true", rows=40, **env
    ) as terminal:
        terminal.wait_for_end()
        assert find_ground(terminal, "return sum(") == ground
        coloured = re.findall(rb"\x1b\[(?:\d+;)*[34]\d(?:;\d+)*m", terminal.raw)
        assert bool(coloured) == (theme != "mono")
    assert git(shop, "status", "--porcelain") == ""
