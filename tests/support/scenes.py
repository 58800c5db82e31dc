"""Typical states of the conversation: for the golden screens and for the pictures in the documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import cli
from tests.support.cli import call
from tests.support.talking import at_rest
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
    _drawn(terminal, "y once")
    yield "question"
    terminal.type("n")
    terminal.wait("Allow run_tests?")
    terminal.type("y")
    terminal.wait("1 file")
    at_rest(terminal)
    yield "done"


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
