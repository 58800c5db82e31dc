"""/localize and /repair: what the offline engine finds, in the middle of a conversation with a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from agent.events import End, Prompt
from agent.events.parsing import parse_event
from cli.output.style.terminal import Terminal as Screen
from cli.tui.questions.waiting_time import WaitingTime
from cli.tui.screen.session_view import SessionView
from tests.support.cli import git
from tests.support.fork_server import TERMINAL
from tests.support.golden import compare, settled, steady
from tests.support.talking import SIZES, ask, at_rest, leave, logs, talk

pytestmark = pytest.mark.slow

TEST = """\
from types import SimpleNamespace as Item

from cart import total


def test_total():
    assert total([Item(price=2), Item(price=3)]) == 5
"""


class Paper:
    """The part of a `Frontend` that a view prints on, of a given size: what stays is kept, the live region is not."""

    redraws, echoes, redraw_interval = True, False, 0.0

    def __init__(self, columns: int, rows: int) -> None:
        self.text = ""
        self.waiting = WaitingTime()
        self.terminal = Screen(tty=True, dumb=False, colour=True, unicode=True, columns=columns, rows=rows)

    def print(self, text: str) -> None:
        self.text += text

    def _nothing(self, *shown: object) -> None:
        """It would be redrawn."""

    set_live_output = show_activity = show_tokens = show_last_output = show_plan = alert = _nothing


def printed(columns: int, rows: int) -> str:
    """What the events of the only session's first turn look like in a window of this size."""
    paper = Paper(columns, rows)
    view = SessionView(cast(Any, paper))
    lines = logs()[0].read_bytes().splitlines()
    events = [parse_event(line) for line in lines]
    begun = next(place for place, event in enumerate(events) if isinstance(event, Prompt))
    view.echo_prompt("make the failing tests pass")
    for event in events[begun:]:
        view.show_event(event)
        if isinstance(event, End):
            break
    shown = re.sub(r"\x1b\[[0-9;]*[mK]", "", paper.text)
    return steady("\n".join(row.rstrip() for row in shown.lstrip("\n").split("\n")))


def test_a_fault_is_found_and_mended_without_the_model(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal of the smallest size; what it printed is what the view prints, which is looked at in all sizes."""
    monkeypatch.setenv("TERM", TERMINAL["TERM"])  # the view of this process, too, has the terminal's colours
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test the total")
    with talk(shop, [{"text": "Thank you."}], columns=40, rows=15) as terminal:
        for columns, rows in SIZES:
            terminal.resize(columns, rows)
            at_rest(terminal)
            ask(terminal, "/localize", "cart.py:2")
            assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.resize(*SIZES[0])
        terminal.type("/repair\r")
        for seen in ("1 fix", "● edit cart.py", "✔ done"):  # each takes its time
            terminal.wait(lambda seen=seen: seen in terminal.everything)
        at_rest(terminal)
        for columns, rows in SIZES:
            compare(printed(columns, rows), f"repaired-{columns}x{rows}")
        assert printed(*SIZES[0]) in settled(terminal)
        assert " - 1" not in (shop / "cart.py").read_text()
        ask(terminal, "/undo", "as before the turn")
        assert " - 1" in (shop / "cart.py").read_text()
        ask(terminal, "well done", "Thank you.")  # the session's own model answers again
        leave(terminal)
