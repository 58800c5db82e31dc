"""`pipeline` on real sessions: one question where the patch is right, others and one with the facts where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    ChoiceEvent,
    Event,
    GuidanceEvent,
    MessageEvent,
    StopAttemptEvent,
)
from agent.session.log import read_events
from agent.session_settings import StrategySettings
from agent.turn.runtime import Runtime
from packages.search.pipeline.several_patches import SEPARATOR
from tests.support.cli import script
from tests.support.loopback import Loopback
from tests.support.strategy_stories import TEST, Story, read_events_of, tell_story

pytestmark = pytest.mark.slow

WRONG = (
    "cart.py\n<<<<<<< SEARCH\n    return -sum(prices)\n=======\n    return sum(prices) + 1\n>>>>>>> REPLACE\n"
)
RIGHT = WRONG.replace(" + 1", "")
NOWHERE = RIGHT.replace("-sum(prices)", "-total(prices)")

PLACES: list[Any] = ["    return -sum(prices)", "test_cart.Test.test_total", {"tools": []}]


@pytest.fixture
def shop(tmp_path: Path) -> Story:
    return Story.create(tmp_path)


def count_replies(shop: Story, attempt: int) -> int:
    """Return how often the model of an attempt was asked; the harness's own last word costs nothing."""
    child = next(each.child for each in read_events_of(shop, AttemptEvent) if each.number == attempt)
    replies = [each for each in read_events(shop.log.parent / child) if isinstance(each, MessageEvent)]
    return sum(each.usage.input > 0 for each in replies)


def answer(*turns: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "usage": {"input": 10, "output": 5}} for each in turns]


def test_a_right_patch_costs_one_question_with_the_place_and_the_failing_test(
    shop: Story, tmp_path: Path
) -> None:
    model = script(tmp_path, answer({"text": f"The sign is wrong.\n\n{RIGHT}", "expect": PLACES}))
    end = tell_story(shop, model, StrategySettings(name="pipeline", attempts=3))
    assert (end.outcome, end.files) == ("done", ["cart.py"])
    assert [each.number for each in read_events_of(shop, AttemptEvent)] == [1]
    assert count_replies(shop, 1) == 1
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    assert shop.repo.committed() == ["cart.py"]


def test_a_failed_patch_leads_to_others_and_one_with_the_facts(shop: Story, tmp_path: Path) -> None:
    """One answer, as `single` has it, is wrong; the last question holds the patch and how it failed."""
    facts = ["return sum(prices) + 1", "wrong behaviour: test_cart.Test.test_total: AssertionError: 4 != 3"]
    models = [
        script(tmp_path, answer({"text": WRONG, "expect": PLACES}), "1.json"),
        script(tmp_path, answer({"text": WRONG, "expect": PLACES}), "2.json"),
        script(tmp_path, answer({"text": RIGHT, "expect": [*PLACES, *facts]}), "3.json"),
    ]
    end = tell_story(shop, models[0], StrategySettings(name="pipeline", attempts=3, models=models))
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    begun = read_events_of(shop, AttemptEvent)
    assert [each.temperature for each in begun] == [None, 0.8, 0.8]
    assert begun[2].hint.startswith("mend: wrong behaviour: ")
    assert [each.exit_code for each in read_events_of(shop, CandidateEvent)] == [1, 1, 0]
    assert [count_replies(shop, number) for number in (1, 2, 3)] == [1, 1, 1]


def test_the_second_question_goes_on_from_no_stopped_patch_and_has_the_words_for_all_others(
    shop: Story, tmp_path: Path
) -> None:
    other = WRONG.replace("+ 1", "+ 2")
    words = "look at the sign"
    models = [
        script(tmp_path, answer({"text": WRONG}), "1.json"),
        script(tmp_path, answer({"text": other}), "2.json"),
        script(tmp_path, answer({"text": other.replace("+ 2", "+ 3")}), "3.json"),
        script(tmp_path, answer({"text": RIGHT}), "4.json"),
    ]

    def watch(runtime: Runtime) -> None:
        def direct(event: Event) -> None:
            given = {1: StopAttemptEvent(attempt=1), 3: GuidanceEvent(attempt=3, text=words)}
            if isinstance(event, CandidateEvent) and event.attempt in given:
                runtime.session.append(given[event.attempt])

        runtime.session.subscribe(direct)

    settings = StrategySettings(name="pipeline", attempts=4, models=models)
    end = tell_story(shop, models[0], settings, watch=watch)
    assert end.outcome == "done", end.summary
    last = next(each.child for each in read_events_of(shop, AttemptEvent) if each.number == 4)
    [prompt] = [
        each.prompt for each in read_events_of(shop, ChildEvent) if each.child == last and each.prompt
    ]
    assert ["+ 1\n" in prompt, "+ 2\n" in prompt, words in prompt] == [False, True, True]


def list_questions(server: Loopback) -> list[str]:
    """Return the messages of the questions for patches; a commit message is asked for, too."""
    sent = [json.dumps(each.body["messages"]) for each in server.requests]
    return [each for each in sent if "You mend a project" in each]


def test_after_a_failed_patch_one_reply_holds_all_others(shop: Story) -> None:
    """Four patches cost two questions; the third one is right, and no model is asked when it is tried."""
    others = f"\n{SEPARATOR}\n".join([WRONG.replace("+ 1", "+ 2"), RIGHT, WRONG.replace("+ 1", "+ 3")])
    with Loopback(answer({"text": others})) as server:  # the same to each question
        end = tell_story(
            shop, "openai/mine", StrategySettings(name="pipeline", attempts=4), api_base=server.url
        )
        sent = list_questions(server)
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    assert len(sent) == 2
    assert "NEXT PATCH" not in sent[0]
    assert all(each in sent[1] for each in ("Give 3 patches", "<earlier-patch>", "return -sum(prices)"))
    used = {each.attempt: each.usage.input for each in read_events_of(shop, CandidateEvent)}
    assert [used[number] > 0 for number in (1, 2, 3)] == [True, True, False]


def test_where_no_test_fails_one_reply_holds_all_but_the_last(tmp_path: Path) -> None:
    """Nothing would tell that the first is enough; the better one by the tests is taken, and no other is asked for."""
    shop = Story.create(
        tmp_path, {"cart.py": "def total(prices):\n    return sum(prices)\n", "test_cart.py": TEST}
    )
    patch = WRONG.replace("-sum", "sum")
    text = f"{patch}\n{SEPARATOR}\n{patch.replace(' + 1', ' + 0')}"
    with Loopback(answer({"text": text})) as server:
        strategy = StrategySettings(name="pipeline", attempts=3)
        end = tell_story(shop, "openai/mine", strategy, "add nothing to the total", api_base=server.url)
        assert len(list_questions(server)) == 1
    assert end.outcome == "done"
    assert "sum(prices) + 0" in shop.repo.show("cart.py")


LITERAL = RIGHT.replace(
    "return sum(prices)", "if prices == [1, 2]:\n        return 3\n    return -sum(prices)"
)


@pytest.mark.parametrize(
    ("patch", "why"), [(WRONG, "it mends no failing test"), (LITERAL, "without mending the code: cart.py:2")]
)
def test_a_best_patch_that_mends_nothing_is_not_applied(
    shop: Story, tmp_path: Path, patch: str, why: str
) -> None:
    before = shop.repo.head()
    model = script(tmp_path, answer({"text": patch}, {"text": "That is all.", "repeat": 3}))
    end = tell_story(shop, model, StrategySettings(name="pipeline", attempts=1))
    assert (end.outcome, end.files) == ("tests-fail", [])
    assert why in end.summary
    assert read_events_of(shop, ChoiceEvent) == []
    assert shop.repo.head() == before


def test_edits_that_do_not_apply_are_asked_for_once_more(shop: Story, tmp_path: Path) -> None:
    turns = answer({"text": NOWHERE}, {"text": RIGHT, "expect": [{"contains": "cart.py"}]})
    end = tell_story(shop, script(tmp_path, turns), StrategySettings(name="pipeline", attempts=1))
    assert end.outcome == "done"
    assert count_replies(shop, 1) == 2
