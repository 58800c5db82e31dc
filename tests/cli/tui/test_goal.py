"""`/goal` in the terminal: set, followed turn by turn, shown, paused, taken up again and stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.goal_state import set_goal
from agent.turn.runtime import Runtime
from cli.tui.commands.goal_command import GoalWords, read_words
from sandbox.errors import UserError
from tests.support.child_sessions import settings_for
from tests.support.cli import call, script
from tests.support.sessions import play_session
from tests.support.talking import ask, at_rest, leave, talk

CHECK = "--until \"grep -q 'items)$' cart.py\""


@pytest.mark.slow
def test_a_goal_is_followed_shown_and_stopped(shop: Path) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new=" - 2")]},
        {"text": "So."},
        {"calls": [call("edit", path="cart.py", old=" - 2", new="")]},
        {"text": "It adds up."},
        {"text": "", "error": "credentials"},
    ]
    arguments = ("--tests", "true", "--sandbox", "unconfined", "--mode", "full")
    with talk(shop, turns, *arguments, columns=100) as terminal:
        at_rest(terminal)
        ask(terminal, "/goal", "no goal; set one")
        ask(
            terminal,
            f"/goal mend the total {CHECK}",
            "goal reached after 2 turns: exit 0; the check names files that were changed",
        )
        assert "goal: 1 of 20 turns · check: exit 1 → exit 1" in terminal.everything
        assert "goal: 2 of 20 turns · check: exit 1 → exit 0" in terminal.everything
        ask(terminal, "/goal", "state: reached")
        ask(terminal, "/goal stop", "there is no goal to stop")
        ask(terminal, "/goal more of it --until false --max-turns 3", "goal paused after 0 of 3 turns")
        ask(terminal, "/goal", "paused; /goal resume goes on")
        ask(terminal, "/goal another --until true", "has a goal already")
        ask(terminal, "/goal stop", "goal not reached after 0 turns: stopped by the user")
        leave(terminal)


def test_the_words_of_a_goal_are_read_from_its_options_on() -> None:
    assert read_words("mend it") == GoalWords(text="mend it")
    assert read_words("""don't stop --until "pytest -k 'a b'" --max-turns 3 --max-cost=0.5""") == GoalWords(
        text="don't stop", check="pytest -k 'a b'", max_turns=3, max_cost=0.5
    )


@pytest.mark.parametrize("wrong", ["x --until", "x --until 'y", "x --max-turns many", "x --until y z"])
def test_wrong_options_are_named(wrong: str) -> None:
    with pytest.raises(UserError):
        read_words(wrong)


@pytest.mark.slow
def test_a_goal_that_a_kill_cut_off_goes_on_after_a_yes(shop: Path) -> None:
    async def cut_off(runtime: Runtime) -> str:
        state = set_goal(runtime, "mend the total", "grep -q 'items)$' cart.py")
        await runtime.run_turn(state.start.text)
        return runtime.session.id

    session = play_session(shop, settings_for(script(shop.parent, [{"text": "So."}], "before.json")), cut_off)
    mended = {"calls": [call("edit", path="cart.py", old=" - 1", new="")]}
    turns = [{"text": "So."}, mended, {"text": "It adds up."}]
    arguments = ("--tests", "true", "--sandbox", "unconfined", "--mode", "full")
    with talk(shop, turns, *arguments, columns=100) as terminal:
        at_rest(terminal)
        terminal.type(f"/resume {session}\r")
        terminal.wait("It was cut off. Go on with it?")
        assert "The goal was cut off: mend the total" in terminal.everything
        terminal.type("g")
        terminal.wait("goal reached after 2 turns: exit 0")
        at_rest(terminal)
        leave(terminal)
