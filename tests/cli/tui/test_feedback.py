"""/feedback on a real terminal: a note on a step is in the log, without a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import ask, at_rest, leave, log_of, talk

pytestmark = pytest.mark.slow


def test_a_step_is_noted_while_the_conversation_goes_on(shop: Path) -> None:
    turns = [
        {"calls": [call("read", path="cart.py")]},
        {"text": "It adds."},
        {"text": "Once more.", "expect": ["again"]},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        terminal.type("what does it do\r")
        terminal.wait("It adds.")
        at_rest(terminal)
        ask(terminal, "/feedback 1 bad read the whole file", "noted at step 1: bad")
        ask(terminal, "/feedback nice", "a note is a step's number, good or bad")
        terminal.type("again\r")
        terminal.wait("Once more.")
        at_rest(terminal)
        leave(terminal)
    log = log_of(shop)
    [noted] = [each for each in log if each["kind"] == "feedback"]
    [step, *_] = [each for each in log if each["kind"] == "message"]
    assert (noted["event"], noted["good"], noted["text"]) == (step["id"], False, "read the whole file")
