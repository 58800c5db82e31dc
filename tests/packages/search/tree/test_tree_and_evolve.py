"""`tree` and `evolve` on real sessions with two faults: gone on from, or put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import AttemptEvent, CandidateEvent, ChoiceEvent, VerdictEvent
from agent.model.model_settings import ModelSettings
from agent.session_settings import StrategySettings
from packages.search.tree.opinions import NODE_JUDGE
from tests.support.cli import call, script
from tests.support.strategy_stories import Story, read_events_of, tell_story

pytestmark = pytest.mark.slow

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


def test_the_most_promising_attempt_is_gone_on_from(tmp_path: Path) -> None:
    """No attempt of these mends both faults; `single` with either model fails."""
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    seen = [{"anywhere": "<earlier-attempt>"}, {"anywhere": "test_cart.Test.test_total"}]
    models = [
        script(tmp_path, [ONE, STOP], "one.json"),
        script(tmp_path, [{**OTHER, "expect": seen}, STOP], "other.json"),
        script(tmp_path, [STOP], "none.json"),
    ]
    end = tell_story(shop, models[0], StrategySettings(name="tree", attempts=3, models=models))
    assert end.outcome == "done"
    fixed = shop.repo.show("cart.py")
    assert "return len(prices)\n" in fixed
    assert "return sum(prices)\n" in fixed
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert [begun[number].after for number in sorted(begun)] == [0, 1, 0]
    assert [begun[number].model for number in sorted(begun)] == models, "by the number of the attempt"
    assert begun[2].hint.startswith("mend: wrong behaviour: test_cart.Test.test_total: ")
    ended = {each.attempt: each.exit_code for each in read_events_of(shop, CandidateEvent)}
    assert (ended[1], ended[2]) == (1, 0)
    (choice,) = read_events_of(shop, ChoiceEvent)
    assert choice.attempt == 2


def test_the_offline_engine_does_not_begin_anew_where_it_failed(tmp_path: Path) -> None:
    """It is asked once more from its partial change; a search of the same state would find the same."""
    hard = CART.replace("-sum(prices)", 'sorted(prices)[0] if "x" in prices else None')
    shop = Story.create(tmp_path, {"cart.py": hard, "test_cart.py": TEST})
    end = tell_story(shop, "offline", StrategySettings(name="tree", attempts=4), "make the tests pass")
    assert end.outcome == "tests-fail"
    assert [each.after for each in read_events_of(shop, AttemptEvent)] == [0, 1]
    assert "return len(prices)\n" in shop.repo.read("cart.py")


RUN = {"calls": [call("run_tests")]}
SPOIL = {"calls": [call("edit", path="cart.py", old="len(prices)", new="len(prices) + 1")]}


def test_an_attempt_goes_on_from_before_the_step_that_broke_what_an_earlier_one_had_mended(
    tmp_path: Path,
) -> None:
    """The first attempt ends as it began; its best state was in between."""
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    seen = [
        {"anywhere": "steps up to this state: edit cart.py; run_tests"},
        {"anywhere": "wrong step after it: edit cart.py"},
        {"anywhere": "it broke: test_cart.Test.test_count"},
    ]
    models = [
        script(tmp_path, [ONE, RUN, SPOIL, RUN, STOP], "one.json"),
        script(tmp_path, [{**OTHER, "expect": seen}, STOP], "other.json"),
        script(tmp_path, [STOP], "none.json"),
    ]
    settings = StrategySettings(name="tree", attempts=3, models=models)
    end = tell_story(shop, models[0], settings)
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == CART.replace("len(prices) - 1", "len(prices)").replace("-sum", "sum")
    begun = {each.number: each.after for each in read_events_of(shop, AttemptEvent)}
    assert begun[2] == 1
    (kept,) = [each for each in read_events_of(shop, VerdictEvent) if each.name == "rewind"]
    assert (kept.attempt, len(kept.artifacts)) == (1, 1)

    # A kill right after the first attempt, or before it is judged, loses nothing of it.
    for last in (b'"kind":"candidate"', b'"state":"ended"'):
        lines = (shop.log / "log.jsonl").read_bytes().splitlines(keepends=True)
        cut = next(number for number, line in enumerate(lines) if last in line)
        (shop.log / "log.jsonl").write_bytes(b"".join(lines[: cut + 1]))
        for name in ("log.index", "log.state.json"):
            (shop.log / name).unlink(missing_ok=True)
        shop.repo.git("reset", "-q", "--hard", "HEAD~1")
        again = tell_story(shop, models[0], settings, None, session=shop.log.name)
        assert again.outcome == "done"
        assert shop.repo.show("cart.py") == CART.replace("len(prices) - 1", "len(prices)").replace(
            "-sum", "sum"
        )
        # By number: the second and the third one begin at once.
        starts = sorted((each.number, each.after) for each in read_events_of(shop, AttemptEvent))
        assert starts[:2] == [(1, 0), (2, 1)]
        rewinds = [each for each in read_events_of(shop, VerdictEvent) if each.name == "rewind"]
        assert len(rewinds) == 1


def test_the_next_attempt_gets_a_judges_words_and_the_cells_of_a_kernel_that_is_gone(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    cell = {"calls": [call("python", code="seen = 41 + 1")]}
    seen = [
        {"anywhere": "<opinion>"},
        {"anywhere": "The sign of the total is wrong, too."},
        {"anywhere": "seen = 41 + 1"},
        {"anywhere": "The Python kernel of that attempt is gone"},
    ]
    said = 'I looked. [{"value": 7.5, "advice": "The sign of the total is wrong, too."}]'
    judge = script(tmp_path, [{"text": said, "repeat": 3}], "judge.json")
    models = [
        script(tmp_path, [cell, ONE, STOP], "one.json"),
        script(tmp_path, [{**OTHER, "expect": seen}, STOP], "other.json"),
        script(tmp_path, [STOP], "none.json"),
    ]
    settings = StrategySettings(name="tree", attempts=3, models=models, judge=True)
    end = tell_story(shop, models[0], settings, models=ModelSettings(judge=judge))
    assert end.outcome == "done"
    assert "return sum(prices)\n" in shop.repo.show("cart.py")
    said_of = {
        each.attempt: each.detail for each in read_events_of(shop, VerdictEvent) if each.name == NODE_JUDGE
    }
    assert said_of[1] == "7.5 of 10: The sign of the total is wrong, too."
    assert said_of[2] == "", "what passes is not judged"


def test_a_state_in_which_all_tests_passed_is_taken_back_without_a_model(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    model = script(tmp_path, [ONE, OTHER, RUN, SPOIL, STOP])
    end = tell_story(shop, model, StrategySettings(name="tree", attempts=2))
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == CART.replace("len(prices) - 1", "len(prices)").replace("-sum", "sum")
    second = read_events_of(shop, CandidateEvent)[-1]
    assert (second.attempt, second.usage.input, second.files) == (2, 0, ["cart.py"])
    assert second.report == "Attempt 1 as it was before edit cart.py."


def test_a_rewind_is_made_where_no_call_could_be_paid_for_any_more(tmp_path: Path) -> None:
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    dear = {**STOP, "usage": {"input": 9, "cost": 1.9}}
    model = script(tmp_path, [ONE, OTHER, RUN, SPOIL, dear])
    end = tell_story(shop, model, StrategySettings(name="tree", attempts=2, budget="2"))
    ended = {each.attempt: each for each in read_events_of(shop, CandidateEvent)}
    assert (end.outcome, ended[2].outcome, ended[2].usage.cost) == ("done", "done", 0.0)


OLD = """import unittest


class Old(unittest.TestCase):
    def test_old(self):
        self.assertEqual(1, 2)
"""


def test_an_old_failure_that_the_prompt_is_not_about_needs_no_attempt(tmp_path: Path) -> None:
    right = {"cart.py": "def total(prices):\n    return sum(prices)\n", "test_old.py": OLD}
    shop = Story.create(tmp_path, right)
    comment = {"calls": [call("edit", path="cart.py", old="def total", new="# Sums.\ndef total")]}
    model = script(tmp_path, [comment, {"text": "It has a comment.", "repeat": 3}])
    end = tell_story(shop, model, StrategySettings(name="tree", attempts=2), "add a comment")
    assert end.outcome == "done"
    begun = read_events_of(shop, AttemptEvent)
    assert [each.after for each in begun] == [0] * len(begun), "none goes on from a failure"


def test_changes_that_mend_different_tests_are_put_together_without_a_model(tmp_path: Path) -> None:
    """No model here mends both faults, and none is asked for the whole."""
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    models = [
        script(tmp_path, [ONE, STOP], "one.json"),
        script(tmp_path, [OTHER, STOP], "other.json"),
        script(tmp_path, [STOP], "none.json"),
    ]
    end = tell_story(shop, models[0], StrategySettings(name="evolve", attempts=4, models=models))
    assert end.outcome == "done"
    fixed = shop.repo.show("cart.py")
    assert "return len(prices)\n" in fixed
    assert "return sum(prices)\n" in fixed
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert begun[4].hint == "attempts 1 and 2 put together"
    ended = {each.attempt: each for each in read_events_of(shop, CandidateEvent)}
    assert (ended[4].exit_code, ended[4].usage.input, ended[4].usage.output) == (0, 0, 0)
    assert ended[4].files == ["cart.py"]
    assert ended[4].report == (
        "Changes of attempts 1 and 2, put together.\n\nAttempt 1: I see no more.\n\nAttempt 2: I see no more."
    )


@pytest.mark.parametrize("budget", ["5, 5m", "200k tokens"])
def test_the_last_two_attempts_of_a_budget_are_paid_for_alike(tmp_path: Path, budget: str) -> None:
    """Nothing is spent here: none of them may be refused."""
    shop = Story.create(tmp_path, {"cart.py": CART, "test_cart.py": TEST})
    model = script(tmp_path, [RUN, RUN, STOP])
    tell_story(shop, model, StrategySettings(name="evolve", attempts=3, budget=budget))
    ended = {each.attempt: each.outcome for each in read_events_of(shop, CandidateEvent)}
    assert ended == dict.fromkeys((1, 2, 3), "done")
