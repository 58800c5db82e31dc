"""Calls beside the conversation: asked of the role's model, logged, counted, and kept within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.budget.limits import MaxCost
from agent.events import MessageEvent, SideCall
from agent.model.protocol import Reply, TextDelta, Usage
from agent.model.routing.roles import Role, Roles
from agent.session.usage_report import UsageReport
from agent.turn.reply.received_reply import ReceivedReply
from agent.turn.side_calls import SideCalls, convert_usage, request_short_text
from sandbox.errors import UserError
from tests.support.bench import Bench, bench
from tests.support.formats import chat_at
from tests.support.loopback import Loopback, Trouble

PRICED = {"input": 100, "output": 10, "cost": 0.25}


def with_fast(tmp_path: Path, server: Loopback, turns: list[Mapping[str, Any]], **options: Any) -> Bench:
    it = bench(tmp_path, turns, [], **options)
    it.runtime.side_calls.roles = Roles(
        lambda: it.runtime.model, {Role.FAST: lambda: chat_at(server.url, "x/fast")}
    )
    return it


def ask(it: Bench, prompt: str = "Name it.") -> str:
    async def asked() -> str:
        text = await request_short_text(it.runtime, prompt, purpose="title")
        await it.runtime.side_calls.roles.close()
        return text

    return asyncio.run(asked())


def test_a_short_text_comes_from_the_fast_model_and_is_logged_and_counted(tmp_path: Path) -> None:
    with Loopback([{"text": " A title\n", "usage": PRICED}]) as server:
        it = with_fast(tmp_path, server, [{"text": "hello", "usage": {"input": 7, "output": 1}}])
        it.turn("go")
        assert ask(it) == "A title"
        assert server.requests[0].body["max_tokens"] > 0
    [call] = [event for event in it.events if isinstance(event, SideCall)]
    assert (call.purpose, call.role, call.model, call.text.strip()) == ("title", "fast", "x/fast", "A title")
    assert it.runtime.loop.tally.usage.cost == 0.25
    bill = UsageReport()
    for event in it.events:
        bill.handle_event(event)
    assert [(each.role, each.calls, each.usage.input) for each in bill.items] == [
        ("main", 1, 7),
        ("fast", 1, 100),
    ]
    assert (bill.total.calls, bill.total.usage.cost, bill.total.has_unpriced_calls) == (2, 0.25, True)


def test_a_script_is_not_asked_for_texts_that_are_not_in_it(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "only this"}], [])
    assert ask(it) == ""
    assert it.turn("go").summary == "only this"
    assert not [event for event in it.events if isinstance(event, SideCall)]


def test_a_failing_model_costs_a_line_in_the_log_and_no_turn(tmp_path: Path) -> None:
    with Loopback(troubles=[Trouble(status=401)]) as server:
        it = with_fast(tmp_path, server, [{"text": "hello"}])
        assert ask(it) == ""
    [call] = [event for event in it.events if isinstance(event, SideCall)]
    assert "401" in call.problem


def test_a_model_that_does_not_answer_in_time_is_given_up() -> None:
    with Loopback(troubles=[Trouble(idle=60.0, at=0)]) as server:
        model = chat_at(server.url, "x/slow")
        calls: list[SideCall] = []
        side = SideCalls(Roles(lambda: model), calls.append)

        async def asked() -> None:
            with pytest.raises(UserError, match="did not answer within"):
                await side.request_text("hi", purpose="title", patience=0.2)
            await model.close()

        asyncio.run(asked())
    assert "did not answer" in calls[0].problem


def test_no_side_call_is_made_beyond_the_limit_on_cost(tmp_path: Path) -> None:
    with Loopback([{"text": "t", "usage": PRICED, "repeat": 5}]) as server:
        it = with_fast(tmp_path, server, [{"text": "hello", "usage": PRICED}], limits=[MaxCost(0.3)])
        it.turn("go")
        assert ask(it) == ""
        assert server.requests == []


def test_a_key_in_the_prompt_is_not_sent(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Ab1" * 30
    with Loopback([{"text": "t"}]) as server:
        ask(with_fast(tmp_path, server, []), f"Summarise: {key}")
        assert key not in server.requests[0].raw.decode()


def test_a_message_names_the_model_that_gave_it(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "hello"}], [])
    it.turn("go")
    [message] = [event for event in it.events if isinstance(event, MessageEvent)]
    assert message.model == it.runtime.model.name


def test_usage_in_the_log_has_what_was_written_to_the_cache_and_the_wait() -> None:
    usage = convert_usage(Usage(input=9, written=5), 1.0, 0.25)
    assert (usage.written, usage.wait) == (5, 0.25)
    usage.add(convert_usage(Usage(input=1, written=2), 1.0))
    assert (usage.written, usage.wait) == (7, 0.25)
    assert convert_usage(Usage(input=1), 1.0).written is None


def test_a_reply_that_comes_in_parts_tells_when_the_first_came() -> None:
    received = ReceivedReply("")
    received.add_delta(Reply(text="whole"))
    assert received.began is None
    received.add_delta(TextDelta(text="a"))
    first = received.began
    received.add_delta(TextDelta(text="b"))
    assert first is not None
    assert received.began == first
