"""Golden screens of what is around a conversation: header, prompt, working line, question, footer.

One process: its window grows, and `/clear` begins a new session in it. `test_matrix` has the other themes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.tui.screen.working_line import SPINNER
from tests.support import cli
from tests.support.cli import call, script
from tests.support.golden import compare, steady
from tests.support.talking import at_rest, prompted, ready
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

USED = {"input": 3_100, "output": 140, "cost": 0.0123}

TURNS = [
    {
        "text": "I look first.",
        "calls": [
            call("write", path="notes.txt", content="look\n"),
            call("shell", command="until test -e go; do sleep 0.05; done"),
        ],
        "usage": USED,
    },
    {"calls": [call("shell", command="git fetch --prune origin")], "usage": USED},
    {"text": "It is mended.", "usage": USED},
]

LAST = 14
"""Rows, with those of styles, of a screen whose first ones have scrolled away."""

SHIFT_TAB = "\x1b[Z"


def walk(terminal: Terminal, shop: Path) -> Iterator[str]:
    """Go through the states of a session; yields the name of each."""
    for name in ("go", "notes.txt"):
        (shop / name).unlink(missing_ok=True)
    at_rest(terminal)
    yield "start"
    terminal.type("mend the total")
    terminal.wait(lambda: prompted(terminal) == "mend the total")
    yield "typing"
    terminal.type("\r")
    terminal.wait(lambda: "Running until" in terminal.text and "3.2k tokens" in terminal.text)
    yield "working"
    terminal.type("and the rounding\r")
    terminal.wait("queued: and the rounding")
    yield "queued"
    (shop / "go").touch()
    terminal.wait(lambda: "y  Yes, once" in terminal.text and terminal.raw.endswith(b"\x1b[?2026l"))
    yield "question"
    there = terminal.everything.count("It is mended.")
    terminal.type("n")
    terminal.wait(lambda: terminal.everything.count("It is mended.") > there)
    at_rest(terminal)
    yield "after the turn"
    for name, said in (("plan", "plan mode: no"), ("ask", "ask: it"), ("auto", "auto: it")):
        there = terminal.everything.count(said)
        terminal.type(SHIFT_TAB)
        terminal.wait(lambda said=said, there=there: terminal.everything.count(said) > there)  # type: ignore[misc]
        at_rest(terminal)
        yield name


def draw(terminal: Terminal, *, styled: bool) -> str:
    """What is seen, without what differs from run to run; below each row, where it has which style."""
    shown = terminal.text.split("\n")
    rows = []
    for number, row in enumerate(shown):
        rows.append(row)
        if styled and not row.startswith((*SPINNER, "●")) and (styles := describe_styles(terminal, number)):
            rows.append(f"      ^ {styles}")
    text = re.sub(
        "(?m)Running until.*? ·", "Running (command) ·", steady("\n".join(rows))
    )  # it is cut for its time
    if "patchwright ·" in text:
        return text[text.rindex("patchwright ·") :]  # without the session before this one
    return "\n".join(text.split("\n")[-LAST:])  # a summary may have taken one row more


def describe_styles(terminal: Terminal, number: int) -> str:
    """The runs of a row that do not look plain: columns, colours, attributes."""
    row, columns, runs, start = terminal.screen.buffer[number], terminal.screen.columns, [], 0
    while start < columns:
        look = describe_look(row[start])
        end = start
        while end < columns and describe_look(row[end]) == look:
            end += 1
        if look and (row[start].bg != "default" or "".join(row[x].data for x in range(start, end)).strip()):
            runs.append(f"{start}-{end - 1} {look}")
        start = end
    return ", ".join(runs)


def describe_look(cell: object) -> str:
    colour, ground = cell.fg, cell.bg  # type: ignore[attr-defined]
    bold, under = cell.bold, cell.underscore  # type: ignore[attr-defined]
    words = [colour if colour != "default" else "", f"on {ground}" if ground != "default" else ""]
    return " ".join(filter(None, [*words, "bold" if bold else "", "underlined" if under else ""]))


def open_shop(shop: Path, theme: str, *arguments: str, columns: int, rows: int) -> Terminal:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(f'[terminal]\ntheme = "{theme}"\n')
    argv = [*cli.PATCHWRIGHT, *arguments]
    env = cli.environment({"HOME": str(shop.parent)})  # ~/shop: another folder would be wrapped elsewhere
    return Terminal(argv, cwd=shop, env=env, columns=columns, rows=rows)


def begin_anew(terminal: Terminal, columns: int, rows: int) -> None:
    """Begin a new session in a window of another size."""
    terminal.resize(columns, rows)
    there = terminal.everything.count("patchwright 0")
    terminal.type("/clear\r")
    terminal.wait(lambda: terminal.everything.count("patchwright 0") > there and ready(terminal))


def test_the_frame_looks_as_it_did(shop: Path) -> None:
    script(shop.parent, TURNS)
    (shop / ".git/info").mkdir(exist_ok=True)
    (shop / ".git/info/exclude").write_text("go\n")
    arguments = ("--model", "scripted:../turns.json", "--tests", "true", "--no-commit")
    with open_shop(shop, "dark", *arguments, columns=50, rows=20) as terminal:
        at_rest(terminal)
        for columns, rows in ((50, 20), (80, 24), (120, 40), (160, 50)):
            begin_anew(terminal, columns, rows)
            seen = [f"## {name}\n{draw(terminal, styled=(columns == 80))}" for name in walk(terminal, shop)]
            compare("\n".join(seen), f"frame-dark-{columns}x{rows}")
            assert max(map(len, terminal.text.split("\n"))) <= columns


def test_without_a_model_the_way_to_one_is_shown(shop: Path) -> None:
    with open_shop(shop, "mono", columns=50, rows=20) as terminal:
        at_rest(terminal)
        seen = [f"## 50x20\n{draw(terminal, styled=False)}"]
        for columns, rows in [(80, 24), (120, 40), (160, 50)]:
            begin_anew(terminal, columns, rows)
            seen.append(f"## {columns}x{rows}\n{draw(terminal, styled=False)}")
        compare("\n".join(seen), "frame-offline")
