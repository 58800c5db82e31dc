"""Servers that refuse a message without content, and replies that a filter ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent.model.protocol import AssistantMessage, Request, ToolMessage
from agent.model.wire_formats.chat_completions import ChatDialect, ChatWire
from tests.support.asking import ask, user
from tests.support.bench import bench
from tests.support.formats import model
from tests.support.raw_endpoint import (
    Json,
    RawAnswer,
    RawEndpoint,
    answer_in_turn,
    build_refusal,
    format_events,
)
from tools.core.action import Action
from tools.session.finish import finish

DONE = {"choices": [{"index": 0, "delta": {"content": "done"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "messages.2.content: none is not an allowed value"),
        (
            422,
            "Failed to deserialize the JSON body: messages[2].content: invalid type: null, expected a string",
        ),
        (400, "Invalid value for 'content': expected a string, got null."),
        (422, "messages.2.assistant.content: Input should be a valid string"),
        (400, "'content' is a required property - 'messages.2'"),
        (500, 'can only concatenate str (not "NoneType") to str'),
    ],
)
def test_a_server_that_takes_no_null_gets_an_empty_text(status: int, said: str) -> None:
    action = Action(id="c1", tool="read", arguments={"path": "a"})
    history = [
        user("go"),
        AssistantMessage(text="", actions=(action,)),
        ToolMessage(call="c1", name="read", text="ok"),
    ]

    def decide(body: Json, before: int) -> RawAnswer:
        has_null = any(each.get("content", "") is None for each in body["messages"])
        return build_refusal(said, status) if has_null else RawAnswer(pieces=[format_events(DONE)])

    with RawEndpoint(decide) as server:
        asked = model("chat", server)
        assert ask(asked, history).text == "done"
        assert ask(asked, history).text == "done"
        contents = [[each["content"] for each in body["messages"]][2] for body in server.requests]
    assert contents == [None, "", ""]


def test_a_message_that_is_marked_for_the_cache_has_no_null_either() -> None:
    wire = ChatWire("m", ChatDialect(mark=True, nulls=False))
    asked = AssistantMessage(text="", actions=(Action(id="c1", tool="read", arguments={}),))
    body = json.loads(wire.body(Request(system="s", messages=[user("go"), asked])))
    assert [each["content"] for each in body["messages"]][-1] == ""


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "guardrail_intervened"])
@pytest.mark.parametrize("text", ["", "The first half of"])
def test_a_filtered_reply_is_told_as_one(reason: str, text: str, tmp_path: Path) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}
    with RawEndpoint(answer_in_turn(format_events(chunk))) as server:
        it = bench(tmp_path, [], [finish], snapshots=False)
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        end = it.turn("go")
        asyncio.run(it.runtime.close())
    assert (end.outcome, end.exit_code) == ("not-achieved", 13)
    assert end.summary.startswith(text or "(")
    assert "the provider's filter stopped it" in end.summary
