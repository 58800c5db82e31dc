"""A person's directions to the attempts of a search: who is reached, and that a search goes on or ends."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    Event,
    GuidanceEvent,
    Signal,
    StopAttemptEvent,
)
from agent.session_settings import StrategySettings
from agent.turn.runtime import Runtime
from tests.support.cli import call, script
from tests.support.person_directions import direct, ends, says
from tests.support.strategy_stories import Story, read_events_of, tell_story

pytestmark = pytest.mark.slow

TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_least(self):
        self.assertEqual(cart.least([2, 1]), 1)

    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""
CART = """def count(prices):
    return len(prices) - 1


def least(prices):
    return max(prices)


def total(prices):
    return -sum(prices)
"""
ONE = {"calls": [call("edit", path="cart.py", old="len(prices) - 1", new="len(prices)")]}
OTHER = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
LEAST = {"calls": [call("edit", path="cart.py", old="max(", new="min(")]}
RUN = {"calls": [call("run_tests")]}
SPOIL = {"calls": [call("edit", path="cart.py", old="len(prices)", new="len(prices) + 1")]}
STOP = {"text": "I see no more.", "repeat": 3}
NEVER = {"text": "Too late.", "delay": 300}
WORDS = "look at least()"


RIGHT = {
    "cart.py": CART.replace("len(prices) - 1", "len(prices)").replace("max", "min").replace("-sum", "sum")
}
COMMENT = {"calls": [call("edit", path="cart.py", old="def total", new="# Sums.\ndef total")]}


def create_shop(folder: Path) -> Story:
    return Story.create(folder, {"cart.py": CART, "test_cart.py": TEST})


@pytest.mark.timeout(60)
def test_guidance_below_an_attempt_that_is_stopped_does_not_hold_up_the_search(tmp_path: Path) -> None:
    shop = create_shop(tmp_path)
    one, other, none = (
        script(tmp_path, [*edits, STOP], f"{name}.json")
        for name, edits in {"one": [ONE], "other": [OTHER], "none": []}.items()
    )
    models = [one, other, none, none]
    watch = direct(GuidanceEvent(attempt=2, text=WORDS), StopAttemptEvent(attempt=1), when=ends(2))
    tell_story(shop, one, StrategySettings(name="tree", attempts=4, models=models), watch=watch)
    after = {each.number: each.after for each in read_events_of(shop, AttemptEvent)}
    assert after == {1: 0, 2: 1, 3: 0, 4: 0}


def test_guidance_comes_before_a_rewind_and_a_state_is_rewound_once(tmp_path: Path) -> None:
    """Two rewinds of one attempt would be the same; a person's words are told where both are possible."""
    shop = create_shop(tmp_path)
    told = [{"anywhere": WORDS}]
    models = [
        script(tmp_path, [ONE, OTHER, LEAST, RUN, SPOIL, STOP], "spoiled.json"),
        script(tmp_path, [{**SPOIL, "expect": told}, STOP], "guided.json"),
        script(tmp_path, [STOP], "none.json"),
    ]
    watch = direct(GuidanceEvent(attempt=1, text=WORDS), when=ends(1))
    settings = StrategySettings(name="evolve", attempts=3, models=models)
    end = tell_story(shop, models[0], settings, watch=watch)
    assert end.outcome == "done"
    hints = {each.number: each.hint for each in read_events_of(shop, AttemptEvent)}
    assert hints == {1: "", 2: "your guidance", 3: "attempt 1 before edit cart.py"}


def test_a_stop_reaches_attempts_that_were_put_together(tmp_path: Path) -> None:
    shop = create_shop(tmp_path)
    models = [
        script(tmp_path, [ONE, STOP], "one.json"),
        script(tmp_path, [OTHER, STOP], "other.json"),
        *[script(tmp_path, [STOP], "none.json")] * 3,
    ]
    watch = direct(StopAttemptEvent(attempt=2), when=ends(4))
    settings = StrategySettings(name="evolve", attempts=5, models=models)
    tell_story(shop, models[0], settings, watch=watch)
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert begun[4].hint == "attempts 1 and 2 put together"
    assert [begun[number].after for number in (5, 6)] == [0, 0], "the best one has the change of attempt 2"


def test_a_stop_leaves_an_attempt_that_began_anew(tmp_path: Path) -> None:
    """It was told how attempt 1 failed, and has nothing of its change."""
    shop = create_shop(tmp_path)
    wrong = {"calls": [call("edit", path="cart.py", old="prices) - 1", new="prices) - 2")]}
    models = [
        script(tmp_path, [wrong, STOP], "wrong.json"),
        script(tmp_path, [STOP], "none.json"),
        script(tmp_path, [RUN, ONE, OTHER, LEAST, STOP], "right.json"),
    ]
    watch = direct(StopAttemptEvent(attempt=1), when=says("action", 3))
    end = tell_story(shop, models[0], StrategySettings(name="tree", attempts=3, models=models), watch=watch)
    assert end.outcome == "done"
    hints = {each.number: each.hint for each in read_events_of(shop, AttemptEvent)}
    assert hints[3].startswith("restart: "), hints
    assert {each.attempt: each.outcome for each in read_events_of(shop, CandidateEvent)}[3] == "done"


def test_an_attempt_that_brings_two_changes_together_is_told_the_guidance_of_both(tmp_path: Path) -> None:
    shop = create_shop(tmp_path)
    models = [
        script(tmp_path, [edit, comment, STOP], f"{name}.json")
        for name, edit in {"one": ONE, "other": OTHER}.items()
        if (comment := {"calls": [call("edit", path="cart.py", old="def least", new=f"# {name}\ndef least")]})
    ]
    models += [script(tmp_path, [STOP], "none.json")] * 4
    words = [GuidanceEvent(attempt=number, text=f"words for {number}") for number in (1, 2)]
    settings = StrategySettings(name="evolve", attempts=6, models=models)
    tell_story(shop, models[0], settings, watch=direct(*words, when=ends(2)))
    (joined,) = [each for each in read_events_of(shop, AttemptEvent) if "together" in each.hint]
    prompts = {each.child: each.prompt for each in read_events_of(shop, ChildEvent) if each.prompt}
    assert "The user adds to this:\nwords for 1\nwords for 2" in prompts[joined.child]


def test_a_search_says_why_attempts_that_agree_are_enough(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {**RIGHT, "test_cart.py": TEST})
    model = script(tmp_path, [COMMENT, STOP])
    end = tell_story(shop, model, StrategySettings(name="tree", attempts=5), "add a comment")
    assert end.outcome == "done"
    said = [each.detail for each in read_events_of(shop, Signal) if each.name == "strategy"]
    assert said == ["3 of 5 attempts are enough: 3 did the same"]


def test_attempts_that_a_person_stopped_do_not_count_as_ones_that_fail_alike(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {**RIGHT, "test_cart.py": TEST})
    models = [script(tmp_path, [STOP], "none.json"), *[script(tmp_path, [NEVER], "never.json")] * 5]
    models += [models[0], script(tmp_path, [COMMENT, STOP], "comment.json")]

    def stop_all(runtime: Runtime) -> None:
        for number in range(2, 7):
            begins = partial(is_begun, number)
            direct(StopAttemptEvent(attempt=number), when=begins)(runtime)

    settings = StrategySettings(name="tree", attempts=8, models=models)
    end = tell_story(shop, models[0], settings, "add a comment", watch=stop_all)
    assert end.outcome == "done"
    assert "# Sums." in shop.repo.read("cart.py"), "the last one was made"


def is_begun(number: int, event: Event) -> bool:
    return isinstance(event, AttemptEvent) and event.number == number
