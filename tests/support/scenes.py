"""Typical states of the conversation: for the golden screens and for the pictures in the documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import cli
from tests.support.cli import call
from tests.support.talking import ask, at_rest, ready
from tests.support.terminal import Terminal

ANSWER = """\
# Why the total is wrong

`total` takes **one** off the sum, so every order is a unit too cheap:

```python
def total(items):
    return sum(item.price for item in items) - 1  # here
```

1. Take the `- 1` away.
2. Add a test with an *empty* cart.

| cart | now | right |
|---|--:|--:|
| empty | -1 | 0 |
| one apple | 2 | 3 |
"""

TURNS: Sequence[Mapping[str, Any]] = (
    {"text": ANSWER, "usage": {"input": 2100, "output": 140, "cost": 0.0081}},
    {
        "text": "I look at the code and its tests first.",
        "reasoning": "The total is one too low. Where is it computed?",
        "calls": [
            call("read", path="cart.py"),
            call("read", path="order.py"),
            call("search", pattern="total"),
            call(
                "plan",
                items=[
                    {"text": "find the mistake", "status": "done"},
                    {"text": "mend it", "status": "doing"},
                    {"text": "run the tests", "status": "open"},
                ],
            ),
        ],
        "usage": {"input": 2600, "output": 60, "cost": 0.0102},
    },
    {"calls": [call("edit", path="cart.py", old=" - 1", new="")], "usage": {"input": 2700, "output": 30}},
    {"calls": [call("shell", command="git fetch --prune origin")]},
    {"text": "The total is right now; one line changed.", "usage": {"input": 2900, "output": 20}},
)


def story(terminal: Terminal) -> Iterator[str]:
    """Go through the story; yields the name of each state that the screen is in."""
    at_rest(terminal)
    terminal.type("why is the total wrong?\r")
    terminal.wait("one apple")
    at_rest(terminal)
    yield "answer"
    terminal.type("/sess")
    _drawn(terminal, "this project's sessions")
    yield "completion"
    terminal.type("\x03")
    at_rest(terminal)
    terminal.type("mend it\r")
    _drawn(terminal, "y  Yes, once")
    yield "question"
    terminal.type("y")
    terminal.wait("Allow shell?")
    terminal.type("n")
    terminal.wait("Allow run_tests?")
    terminal.type("y")
    terminal.wait("1 file")
    at_rest(terminal)
    yield "done"
    terminal.type("\x0f")
    terminal.wait("end · ")
    yield "transcript"
    terminal.type("q")
    at_rest(terminal)
    ask(terminal, "/rename the total that was one too low", "this session is called")
    there = terminal.everything.count("patchwright 0")
    terminal.type("/clear\r")
    terminal.wait(lambda: terminal.everything.count("patchwright 0") > there and ready(terminal))
    terminal.type("/resume\r")
    terminal.wait("Go on with which session?")
    terminal.wait("1 of 1")
    yield "sessions"


INDEXING = """\
for n in 1 2 3; do echo indexed ${n}00 of 300 files; done
sleep 600
"""

WORK: Sequence[Mapping[str, Any]] = (
    {
        "text": "The index should make it faster. I time it.",
        "calls": [
            call(
                "plan",
                items=[
                    {"text": "find what is slow", "status": "done"},
                    {"text": "time the new index", "status": "doing"},
                ],
            )
        ],
    },
    {"calls": [call("shell", command="sh index.sh")]},
    {"text": "I stopped. The old index took 41 s for 300 files; the new one is not done after that."},
    {
        "calls": [
            call("read", path="cart.py"),
            call(
                "plan",
                items=[
                    {"text": text, "status": "open"}
                    for text in ("take the `- 1` away", "test an empty cart", "run all tests")
                ],
            ),
        ]
    },
    {
        "text": "One line is wrong. I would mend it, and add a test for an *empty* cart.\n\nUncertain: nothing."
    },
)


def work(terminal: Terminal) -> Iterator[str]:
    """Go through another one: a command runs and is stopped, a plan is made, and help is asked for."""
    at_rest(terminal)
    terminal.type("is the new index any faster?\r")
    terminal.wait("indexed 300 of 300 files")
    terminal.type("and compare it with the old one\r")
    terminal.wait("queued: and compare")
    terminal.type("@or")
    _drawn(terminal, "order.py")
    yield "working"
    terminal.type("\x15")
    terminal.wait(lambda: "@or" not in terminal.text)
    terminal.type("\x03")
    terminal.wait("I stopped.")
    at_rest(terminal)
    yield "stopped"
    ask(terminal, "/plan", "plan mode: nothing is changed")
    terminal.type("mend the total\r")
    terminal.wait("The plan is made. What now?")
    _drawn(terminal, "l  Leave plan mode")
    yield "plan"
    terminal.type("\x03")
    at_rest(terminal)
    ask(terminal, "/help", "search the history")
    yield "help"


def _drawn(terminal: Terminal, text: str) -> None:
    """Wait for a text, and for the end of the redraw that shows it: what stands below it may come a moment later."""
    terminal.wait(lambda: text in terminal.text and terminal.raw.endswith(b"\x1b[?2026l"))


def open_story(root: Path, columns: int, rows: int, **env: str) -> Terminal:
    """The program with the story's model, in the shop at `root`."""
    (root.parent / "turns.json").write_text(json.dumps({"turns": list(TURNS)}))
    arguments = (
        "--model",
        "scripted:../turns.json",
        "--sandbox",
        "unconfined",
        "--tests",
        "echo 3 passed in 0.02s",
    )
    return Terminal(
        [*cli.PATCHWRIGHT, *arguments], cwd=root, env=cli.environment(env), columns=columns, rows=rows
    )


def open_work(root: Path, columns: int, rows: int) -> Terminal:
    """The program with the other story's model."""
    (root / "index.sh").write_text(INDEXING)
    (root.parent / "turns.json").write_text(json.dumps({"turns": list(WORK)}))
    argv = [*cli.PATCHWRIGHT, "--model", "scripted:../turns.json"]
    return Terminal(argv, cwd=root, env=cli.environment(), columns=columns, rows=rows)
