"""`sample` on real sessions: attempts that differ, and no more than are worth their price."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import AttemptEvent, CandidateEvent, ChoiceEvent, Signal
from agent.session_settings import StrategySettings
from agent.strategy import strategy_turn
from agent.strategy.race import STOP
from tests.support.cli import call, script
from tests.support.strategy_stories import Story, read_events_of, tell_story

pytestmark = pytest.mark.slow

EDIT = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
WRONG = {"calls": [call("edit", path="cart.py", old="-sum(prices)", new="sum(prices) + 1")]}
DONE = {"text": "It adds up.", "repeat": 3}


def test_attempts_that_agree_make_others_needless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`single` fails with the first model; three of the others agree, and the last one under way is cancelled."""
    monkeypatch.setattr(strategy_turn, "_count_processors", lambda: 2)
    shop = Story.create(tmp_path)
    slow = {"text": "I have to think.", "delay": 120, "calls": [call("list")]}
    models = [
        script(tmp_path, [WRONG, DONE], "wrong.json"),
        *(script(tmp_path, [EDIT, DONE], f"{number}.json") for number in range(4)),
        script(tmp_path, [slow, EDIT, DONE], "slow.json"),
    ]
    order = [models[0], models[5], *models[1:5]]
    strategy = StrategySettings(name="sample", attempts=12, models=order)
    end = tell_story(shop, models[0], strategy)
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    ended = {each.attempt: each for each in read_events_of(shop, CandidateEvent)}
    assert ended[1].outcome == "tests-fail"
    assert ended[2].report == "not needed any more: 3 did the same"
    (stop,) = [each.detail for each in read_events_of(shop, Signal) if each.name == STOP]
    assert stop == f"{len(ended) - 1} of 12 attempts are enough: 3 did the same"
    (choice,) = read_events_of(shop, ChoiceEvent)
    assert (choice.attempt, 2 in choice.order) == (3, False)
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert len(begun) < 9
    assert (begun[1].hint, begun[1].temperature) == ("", None)
    assert begun[2].hint.startswith("Before you change a file, write down")
    assert begun[3].hint == "Begin by reading cart.py:1 (total), and look further from there."
    assert begun[3].temperature == 0.8


def test_attempts_that_begin_at_once_are_paid_for_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is spent here: none of them may be refused."""
    monkeypatch.setattr(strategy_turn, "_count_processors", lambda: 2)
    shop = Story.create(tmp_path)
    look = {"calls": [call("list")], "delay": 0.5}
    models = [script(tmp_path, [look, look, DONE], f"{number}.json") for number in range(2)]
    settings = StrategySettings(name="sample", attempts=2, models=models, budget="200k tokens")
    tell_story(shop, models[0], settings)
    outcomes = [each.outcome for each in read_events_of(shop, CandidateEvent)]
    assert len(outcomes) == 2
    assert "limit" not in outcomes
