"""A person's directions to running attempts: guidance reaches those that it is for, a stopped branch ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    GuidanceEvent,
    Prompt,
    Signal,
    StopAttemptEvent,
)
from agent.session_settings import StrategySettings
from agent.strategy.person.attempt_tree import AttemptTree
from agent.strategy.person.direction_check import check_direction
from agent.strategy.person.directions import Directions
from packages.search import auto_strategy
from sandbox.errors import UserError
from tests.support.cli import call, script
from tests.support.person_directions import direct, ends, says
from tests.support.strategy_stories import Story, read_events_of, tell_story

TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""
CART = """def count(prices):
    return len(prices) - 1


def total(prices):
    return -sum(prices)
"""
ONE = {"calls": [call("edit", path="cart.py", old="len(prices) - 1", new="len(prices)")]}
OTHER = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
STOP = {"text": "I see no more.", "repeat": 3}
NEVER = {"text": "Too late.", "delay": 300}
WORDS = "look at total()"


@pytest.mark.slow
def test_guidance_is_told_to_the_next_attempt_that_goes_on(tmp_path: Path) -> None:
    """Without it, nothing would go on from attempt 1, which mends nothing."""
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    told = [{"anywhere": "The user adds to this:"}, {"anywhere": WORDS}]
    models = [
        script(tmp_path, [STOP], "none.json"),
        script(tmp_path, [{**ONE, "expect": told}, OTHER, STOP], "both.json"),
        script(tmp_path, [STOP], "last.json"),
    ]
    watch = direct(GuidanceEvent(attempt=1, text=WORDS), when=ends(1))
    settings = StrategySettings(name="tree", attempts=3, models=models)
    end = tell_story(shop, models[0], settings, watch=watch)
    assert end.outcome == "done", end.summary
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert (begun[1].directions, begun[2].directions) == (0, 1)
    prompts = {
        each.child: each.prompt for each in read_events_of(shop, ChildEvent) if each.state == "started"
    }
    told_of = {number: WORDS in prompts[each.child] for number, each in begun.items()}
    assert told_of == {1: False, 2: True, 3: False}, "used once"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree", "evolve"])
def test_nothing_goes_on_from_a_branch_that_is_stopped(tmp_path: Path, name: str) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    models = [script(tmp_path, [ONE, STOP], "one.json"), script(tmp_path, [STOP], "none.json")]
    settings = StrategySettings(name=name, attempts=3, models=[models[0], models[1], models[1]])
    tell_story(shop, models[0], settings, watch=direct(StopAttemptEvent(attempt=1), when=ends(1)))
    begun = read_events_of(shop, AttemptEvent)
    assert sorted((each.number, each.after) for each in begun) == [(1, 0), (2, 0), (3, 0)]
    assert "return len(prices)\n" in shop.repo.read("cart.py"), "its change stays a candidate"


@pytest.mark.slow
def test_an_attempt_that_runs_is_stopped_and_not_chosen(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    models = [
        script(tmp_path, [ONE, OTHER, STOP], "both.json"),
        script(tmp_path, [ONE, NEVER], "never.json"),
    ]
    watch = direct(StopAttemptEvent(attempt=2), when=says("observation", 2))
    end = tell_story(shop, models[0], StrategySettings(name="sample", attempts=2, models=models), watch=watch)
    assert end.outcome == "done"
    made = {each.attempt: each for each in read_events_of(shop, CandidateEvent)}
    assert (made[2].report, made[2].patch, made[2].exit_code) == ("stopped by you", "", 130)
    assert made[1].exit_code == 0


@pytest.mark.slow
def test_an_attempt_that_runs_is_told_the_words_of_the_person(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    heard = {**OTHER, "expect": [WORDS]}
    models = [script(tmp_path, [ONE, heard, STOP], "both.json"), script(tmp_path, [STOP], "none.json")]
    watch = direct(GuidanceEvent(attempt=1, text=WORDS), when=says("action", 1))
    end = tell_story(shop, models[0], StrategySettings(name="sample", attempts=2, models=models), watch=watch)
    assert end.outcome == "done", end.summary


def test_a_decision_of_before_a_kill_is_made_again_with_what_it_knew() -> None:
    directions = Directions()
    stop, words = StopAttemptEvent(attempt=1), GuidanceEvent(attempt=1, text=WORDS)
    for event in (
        AttemptEvent(number=2, child="c"),
        stop,
        AttemptEvent(number=3, child="d", directions=1),
        words,
    ):
        directions.track_event(event)
    assert directions.list_stopped(2) == frozenset(), "it was decided on before"
    assert directions.list_stopped(3) == frozenset({1})
    assert directions.list_guidance(3, [1]) == []
    assert directions.list_guidance(4, [1]) == [WORDS]
    assert (directions.count_known(2), directions.count_known(3), directions.count_known(4)) == (0, 1, 2)
    assert directions.is_stopped(2, below=[1]), "but one that did not end does not run again"


def test_words_are_new_until_an_attempt_was_planned_with_them() -> None:
    directions = Directions()
    directions.handle_event(GuidanceEvent(attempt=1, text=WORDS))
    assert directions.has_new_guidance(2, 1)
    directions.use_guidance(2, 1)
    assert not directions.has_new_guidance(3, 1)
    directions.handle_event(GuidanceEvent(attempt=1, text="and at count()"))
    assert directions.has_new_guidance(3, 1)


def test_directions_that_nothing_could_follow_are_refused() -> None:
    tree = AttemptTree(strategy="sample")
    tree.handle_event(AttemptEvent(number=1, child="c", strategy="sample"))
    tree.handle_event(AttemptEvent(number=2, child="d", strategy="sample"))
    check_direction(tree, GuidanceEvent(attempt=1, text=WORDS))
    with pytest.raises(UserError, match="no attempt 5"):
        check_direction(tree, StopAttemptEvent(attempt=5))
    with pytest.raises(UserError, match="guidance has 1 to"):
        check_direction(tree, GuidanceEvent(attempt=1, text="  "))
    tree.handle_event(CandidateEvent(attempt=1, child="c", exit_code=1))
    with pytest.raises(UserError, match="attempt 1 has ended, and 'sample' does not go on"):
        check_direction(tree, GuidanceEvent(attempt=1, text=WORDS))
    tree.handle_event(StopAttemptEvent(attempt=2))
    with pytest.raises(UserError, match="stopped already"):
        check_direction(tree, StopAttemptEvent(attempt=2))
    tree.has_ended = True
    with pytest.raises(UserError, match="the turn of attempt 2 has ended"):
        check_direction(tree, StopAttemptEvent(attempt=2))


def test_what_auto_chose_decides_which_directions_make_sense() -> None:
    for chosen, is_refused in (("sample", True), ("team", True), ("tree", False)):
        tree = AttemptTree()
        tree.handle_event(Prompt(text="mend"))
        tree.handle_event(Signal(name=auto_strategy.NAME, detail=f"{chosen}: it fits"))
        tree.handle_event(AttemptEvent(number=1, child="c", strategy="auto"))
        tree.handle_event(CandidateEvent(attempt=1, child="c", exit_code=1))
        assert (tree.strategy, tree.method) == ("auto", chosen)
        if is_refused:
            with pytest.raises(UserError, match=f"'{chosen}' does not go on"):
                check_direction(tree, GuidanceEvent(attempt=1, text=WORDS))
        else:
            check_direction(tree, GuidanceEvent(attempt=1, text=WORDS))
    tree.handle_event(Prompt(text="again"))
    tree.handle_event(AttemptEvent(number=1, child="c", strategy="sample"))
    assert tree.method == "sample", "the choice was for the turn before"


def test_an_attempt_below_a_stopped_one_takes_no_directions() -> None:
    tree = AttemptTree()
    hints = {4: "attempts 2 and 3 put together"}
    for number, after in ((1, 0), (2, 1), (3, 0), (4, 2), (5, 4), (6, 3), (7, 8), (8, 7)):
        begun = AttemptEvent(
            number=number, child="c", after=after, strategy="evolve", hint=hints.get(number, "")
        )
        tree.handle_event(begun)
    assert sorted(tree.list_ancestors(5)) == [1, 2, 3, 4]
    tree.handle_event(StopAttemptEvent(attempt=1))
    for given in (GuidanceEvent(attempt=5, text=WORDS), StopAttemptEvent(attempt=2)):
        with pytest.raises(
            UserError, match=f"attempt {given.attempt} goes on from attempt 1, which is stopped"
        ):
            check_direction(tree, given)
    check_direction(tree, GuidanceEvent(attempt=6, text=WORDS))
    check_direction(tree, GuidanceEvent(attempt=8, text=WORDS))
    tree.handle_event(StopAttemptEvent(attempt=3))
    with pytest.raises(UserError, match="attempt 6 goes on from attempt 3"):
        check_direction(tree, GuidanceEvent(attempt=6, text=WORDS))
