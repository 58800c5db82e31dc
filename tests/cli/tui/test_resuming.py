"""A conversation that was killed: it opens again with its past, says what was cut off, and offers to go on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import call, script
from tests.support.talking import SIZES, ask, at_rest, leave, log_of, logs, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

EDIT = call("edit", path="cart.py", old=" - 1", new="")
SLOW = call("shell", command="touch begun; sleep 300")


def kill_at_work(shop: Path) -> None:
    """Kill a conversation whose second turn runs a command after an edit."""
    turns = [{"text": "First answer."}, {"text": "I mend it.", "calls": [EDIT]}, {"calls": [SLOW]}]
    with talk(shop, turns, "--tests", "true") as terminal:
        at_rest(terminal)
        ask(terminal, "what is here?", "First answer.")
        terminal.type("mend the total\r")
        terminal.wait_beside((shop / "begun").exists)
        os.kill(terminal.pid, signal.SIGKILL)


def open_again(shop: Path, columns: int = 80, rows: int = 24) -> Terminal:
    """`patchwright resume`, without an id and without options but the model's."""
    model = script(shop.parent, [{"text": "It adds up now."}, {"text": "As you say."}])
    argv = [*cli.PATCHWRIGHT, "resume", "--tests", "true", "--model", model]
    return Terminal(argv, cwd=shop, env=cli.environment(), columns=columns, rows=rows)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_killed_turn_is_shown_and_goes_on_after_a_yes(shop: Path, columns: int, rows: int) -> None:
    kill_at_work(shop)
    with open_again(shop, columns, rows) as terminal:
        terminal.wait("It was cut off. Go on with it?")
        seen = " ".join(terminal.everything.split())
        for part in (
            "patchwright",
            "❯ mend the total",
            "I mend it.",
            "● edit cart.py",
            "This turn was cut off after 2 steps, during shell touch begun; sleep 300, which may have taken effect.",
        ):
            assert part in seen
        assert [event["kind"] for event in log_of(shop)].count("end") == 1, "nothing goes on unasked"
        terminal.type("g")
        terminal.wait(lambda: "It adds up now." in terminal.everything)
        at_rest(terminal)
        leave(terminal)
    assert [event["kind"] for event in log_of(shop)].count("end") == 2


def test_a_killed_turn_is_left_for_other_words(shop: Path) -> None:
    kill_at_work(shop)
    with open_again(shop) as terminal:
        terminal.wait("It was cut off. Go on with it?")
        terminal.type("\x1b")
        terminal.wait("nothing was done; say what to do instead")
        at_rest(terminal)
        ask(terminal, "leave it at that", "It adds up now.")
        leave(terminal)
    assert [event["text"] for event in log_of(shop) if event["kind"] == "prompt"][-1] == "leave it at that"


def test_without_a_terminal_the_turn_is_finished(shop: Path) -> None:
    kill_at_work(shop)
    model = script(shop.parent, [{"text": "It adds up now."}])
    done = cli.run("resume", "--tests", "true", "--model", model, cwd=shop)
    assert (done.code, done.out) == (0, "It adds up now.\n"), done.err
    assert len(logs()) == 1
