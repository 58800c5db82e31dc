"""A prompt that may be a wish or a question: without a model the person is asked, at three sizes of the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.tui.conversation.plan_mode import ASKED
from packages.offline.model.intent.chosen_wish import ANSWER_CHOSEN
from tests.support import cli
from tests.support.talking import AT_SIZES, ask, at_rest, leave, log_of, prompted
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

TITLE = "A repair, or an answer?"


@AT_SIZES
def test_the_person_says_what_is_meant(shop: Path, columns: int, rows: int) -> None:
    before = (shop / "cart.py").read_bytes()
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=shop, env=cli.environment(), columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("have a look at cart.py\r")
        terminal.wait(TITLE)
        terminal.type("\x1b[B\x1b[B\r")  # the third: nothing
        terminal.wait("interrupted")
        terminal.wait(lambda: prompted(terminal) == "have a look at cart.py")  # given back
        terminal.type("\r")
        terminal.wait(lambda: terminal.text.count(TITLE) == 1)
        terminal.type("\x1b[B\r")  # the second: only answer
        terminal.wait("looked up")
        at_rest(terminal)
        ask(terminal, "where is total defined?", "cart.py:1")  # no question about a question
        terminal.type("/plan\r")
        terminal.wait("plan ·")
        at_rest(terminal)
        ask(terminal, "look at total", "looked up")  # in plan mode it can only be a question
        leave(terminal)
    assert (shop / "cart.py").read_bytes() == before
    events = log_of(shop)
    assert [each["outcome"] for each in events if each["kind"] == "end"] == [
        "interrupted",
        "done",
        "done",
        "done",
    ]
    assert [each["text"] for each in events if each["kind"] == "steer"] == [
        ANSWER_CHOSEN,
        ASKED,
        ANSWER_CHOSEN,
    ]
    assert "edit" not in {each["tool"] for each in events if each["kind"] == "action"}
