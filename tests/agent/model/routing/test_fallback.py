"""Chains of models and relays: who answers, when, and what the user is told of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.context.projection.message_slots import NoteMessage
from agent.events import MessageEvent, Signal
from agent.model.protocol import (
    AssistantMessage,
    CutOff,
    Message,
    Model,
    Reply,
    Request,
    ToolMessage,
    UserMessage,
)
from agent.model.routing.fallback import LONGEST_REST, REST, Fallback
from agent.model.routing.planner_executor import (
    FAILURES,
    LEAD,
    RECHECK,
    PlannerExecutor,
    find_strong_model_reason,
)
from sandbox.errors import Fault, UserError
from tests.support.asking import reply, user
from tests.support.bench import bench
from tests.support.formats import model
from tests.support.loopback import Loopback, Trouble
from tools.core.action import Action

DOWN = [Trouble(status=503, retry_after="0")] * 40


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(chain: Model, times: int = 1) -> list[Reply]:
    async def ask() -> list[Reply]:
        return [await reply(chain, Request(system="", messages=[user("hi")])) for _ in range(times)]

    return asyncio.run(ask())


def test_the_next_model_answers_while_the_first_is_down_and_the_first_is_left_alone() -> None:
    notices: list[str] = []
    clock = Clock()
    with Loopback(troubles=DOWN) as down, Loopback([{"text": "from the second", "repeat": 9}]) as up:
        chain = Fallback(
            model("chat", down),
            [("second", lambda: model("anthropic", up))],
            on_notice=notices.append,
            clock=clock,
        )
        got = asked(chain, 3)
        assert [(each.text, each.model) for each in got] == [("from the second", "second")] * 3
        assert len(down.requests) == 4, "tried once, with its retries, and then left out"
        clock.now = REST
        asked(chain)
        assert len(down.requests) == 8, "tried again after its rest"
        clock.now += REST
        asked(chain)
        assert len(down.requests) == 8, "which is twice as long the second time"
        clock.now += LONGEST_REST
        down.troubles.clear()
        assert asked(chain)[0].text == "ok"
        asyncio.run(chain.close())
    told = [notice for notice in notices if "answers now" in notice]
    assert told == ["second answers now", "chat/tiny answers now"]


def test_when_none_can_be_reached_the_last_error_is_told() -> None:
    with Loopback(troubles=DOWN) as down:
        chain = Fallback(model("chat", down), [("second", lambda: model("responses", down))])
        with pytest.raises(UserError, match="/responses answered 503") as caught:
            asked(chain)
        asyncio.run(chain.close())
    assert caught.value.fault is Fault.MODEL_UNREACHABLE


def test_a_request_that_is_refused_for_what_it_is_is_not_passed_on() -> None:
    with Loopback(troubles=[Trouble(status=400)]) as first, Loopback() as second:
        chain = Fallback(model("chat", first), [("second", lambda: model("chat", second))])
        with pytest.raises(UserError, match="400"):
            asked(chain)
        asyncio.run(chain.close())
        assert second.requests == []


def test_text_that_was_shown_is_not_said_again_by_another_model() -> None:
    with (
        Loopback([{"text": "word " * 100}], troubles=[Trouble(cut_after=4000)]) as first,
        Loopback() as second,
    ):
        chain = Fallback(model("chat", first), [("second", lambda: model("chat", second))])
        with pytest.raises(CutOff):
            asked(chain)
        assert second.requests == []
        assert asked(chain)[0].model == "second"
        asyncio.run(chain.close())


def test_a_turn_goes_on_with_the_next_model_and_says_who_answered(tmp_path: Path) -> None:
    it = bench(tmp_path, [], [])
    with Loopback(troubles=DOWN) as down, Loopback([{"text": "done"}]) as up:
        tell = lambda text: it.runtime.session.append(Signal(name="model", detail=text))  # noqa: E731
        chain = Fallback(model("chat", down), [("second", lambda: model("chat", up))], on_notice=tell)
        it.runtime.loop.model = it.runtime.model = chain
        assert it.turn("go").outcome == "done"
        asyncio.run(it.runtime.close())
    assert [event.model for event in it.events if isinstance(event, MessageEvent)] == ["second"]


def said(*actions: Action) -> AssistantMessage:
    return AssistantMessage(text="", actions=actions)


def step(number: int, *, failed: bool = False) -> list[Message]:
    action = Action(id=str(number), tool="read", arguments={})
    return [said(action), ToolMessage(call=action.id, name="read", text="", failed=failed)]


def test_the_strong_model_leads_and_hands_over() -> None:
    messages: list[Message] = [UserMessage(text="fix it")]
    for number in range(LEAD):
        assert find_strong_model_reason(messages) == "leads"
        messages += step(number)
    assert find_strong_model_reason(messages) == ""
    messages.append(UserMessage(text="and now this"))
    assert find_strong_model_reason(messages) == "leads", "each turn anew"


def test_it_takes_over_when_actions_or_tests_fail() -> None:
    messages: list[Message] = [UserMessage(text="fix it")]
    for number in range(LEAD + 1):
        messages += step(number)
    for number in range(FAILURES):
        assert find_strong_model_reason(messages) == ""
        messages += step(10 + number, failed=True)
    assert "failed actions" in find_strong_model_reason(messages)
    messages += step(20)
    assert find_strong_model_reason(messages) == "", "one that worked ends the row"
    messages.append(UserMessage(text=f"{RECHECK}: 1 failed."))
    assert "tests fail" in find_strong_model_reason(messages)


def test_a_relay_asks_both_and_says_who_answered() -> None:
    notices: list[str] = []
    with (
        Loopback([{"text": "strong", "repeat": 9}]) as one,
        Loopback([{"text": "cheap", "repeat": 9}]) as other,
    ):
        strong, cheap = model("anthropic", one), model("chat", other)
        relay = PlannerExecutor(strong, cheap, on_notice=notices.append)
        messages: list[Message] = [user("fix it")]
        texts = []

        async def ask() -> None:
            for number in range(LEAD + 2):
                got = await reply(relay, Request(system="", messages=messages))
                texts.append((got.text, got.model))
                messages.extend(step(number))
            await relay.close()

        asyncio.run(ask())
    assert texts == [("strong", "anthropic/tiny")] * LEAD + [("cheap", "chat/tiny")] * 2
    assert notices == ["anthropic/tiny: leads", "chat/tiny carries it out"]


def test_a_note_of_the_harness_does_not_begin_a_turn_anew() -> None:
    messages: list[Message] = [UserMessage(text="fix it")]
    for number in range(LEAD):
        messages += step(number)
    messages.append(NoteMessage(text="Before this is done: your changes weaken tests"))
    assert find_strong_model_reason(messages) == ""
    messages.append(UserMessage(text="[later] and now this"))
    assert find_strong_model_reason(messages) == "leads", "a person's words do, however they begin"
