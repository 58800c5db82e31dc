"""The three wire formats: the same conversation comes out of each, and each gets back what it needs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from agent.model.protocol import (
    AssistantMessage,
    ContextOverflow,
    CutOff,
    Image,
    Message,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from agent.model.providers.model_catalog import Listing, Price
from agent.model.wire_formats.anthropic_messages import AnthropicDialect
from agent.model.wire_formats.chat_completions import ChatDialect
from agent.model.wire_formats.openai_responses import ResponsesDialect
from sandbox.errors import Fault, UserError
from tests.support.asking import READ, answered, ask, deltas, user
from tests.support.formats import KINDS, OVERFLOW, model
from tests.support.loopback import Loopback, Trouble
from tools.core.action import Action

every_format = pytest.mark.parametrize("kind", list(KINDS))

TURN = {
    "reasoning": "two and two",
    "text": "I look at both.",
    "calls": [
        {"tool": "read", "arguments": {"path": "a/very/long/path/that/is/cut/into/fragments.py"}},
        {"tool": "search", "arguments": {"pattern": 'naïve \\d+ "quoted"\n'}},
    ],
    "usage": {"input": 100, "cached": 40, "output": 7, "reasoning": 3},
}


@every_format
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
def test_text_reasoning_calls_usage_and_stop_come_out_alike(kind: str, whole: bool) -> None:
    listing = Listing(window=5000, prices=(Price(0, 1.0, 10.0, 0.5),))
    with Loopback([TURN], troubles=[Trouble(whole=whole)]) as server:
        asked = model(kind, server, listing=lambda: listing)
        request = Request(system="Be brief.", messages=[user("go")], tools=[READ])
        items = asyncio.run(deltas(asked, request))
    got = items[-1]
    assert isinstance(got, Reply)
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == got.text == TURN["text"]
    assert "".join(i.text for i in items if isinstance(i, ReasoningDelta)) == got.reasoning == "two and two"
    assert [(a.tool, a.arguments) for a in got.actions] == [
        (c["tool"], c["arguments"]) for c in TURN["calls"]
    ]  # type: ignore[index]
    assert len({action.id for action in got.actions}) == 2
    assert (got.stop, got.usage.input, got.usage.cached, got.usage.output) == ("actions", 100, 40, 7)
    assert got.usage.reasoning == (0 if kind == "anthropic" else 3)  # Anthropic does not tell
    assert got.usage.cost == 60 * 1.0 + 40 * 0.5 + 7 * 10.0
    assert sum(isinstance(item, Reply) for item in items) == 1


@every_format
def test_a_second_request_begins_with_the_bytes_of_the_first_and_means_the_same(kind: str) -> None:
    seen = {"expect": [{"anywhere": "Be brief."}, "A", "B", {"tools": ["read"]}]}
    with Loopback([TURN, {**TURN, **seen}, {"text": "done"}]) as server:
        asked = model(kind, server)
        messages: list[Message] = [user("go")]
        for _ in range(2):
            messages += answered(ask(asked, messages), "A", "B")
        messages.append(user("and then?"))
        assert ask(asked, messages).text == "done"
        bodies = [request.raw for request in server.requests]
    for before, after in pairwise(bodies):
        assert after.startswith(before.removesuffix(b"]}"))
    assert len({body.partition(b"[{")[0] for body in bodies}) == 1


@every_format
def test_a_provider_s_own_reasoning_goes_back_as_it_came_and_to_nobody_else(kind: str) -> None:
    with Loopback([TURN, {"text": "done"}]) as server:
        asked = model(kind, server)
        got = ask(asked, [user("go")])
        logged = json.loads(json.dumps([dict(part) for part in got.kept]))  # as a log gives it back
        said = AssistantMessage(text=got.text, actions=got.actions, kept=tuple(logged))
        results = [ToolMessage(call=each.id, name=each.tool, text="ok") for each in got.actions]
        conversation: list[Message] = [user("go"), said, *results]
        ask(asked, conversation)
        body = server.requests[1].body
    if kind == "chat":
        assert got.kept == ()
    elif kind == "responses":
        item = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "two and two"}]}
        assert body["input"][1] == item | {"encrypted_content": "sealed two and two"}
        assert body["store"] is False
    else:
        block = {"type": "thinking", "thinking": "two and two", "signature": "signed"}
        assert body["messages"][1]["content"][0] == block
    for other in set(KINDS) - {kind}:
        with Loopback() as server:
            ask(model(other, server), conversation)
            assert b"sealed" not in server.requests[0].raw
            assert b"signed" not in server.requests[0].raw


@every_format
def test_an_image_is_sent_in_the_words_of_the_format(kind: str) -> None:
    message = UserMessage(text="what is this?", images=(Image(media="image/png", data="iVBORw0K"),))
    with Loopback() as server:
        ask(model(kind, server), [message])
        sent = server.requests[0].raw.decode()
    expected = {
        "chat": '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0K"}}',
        "responses": '{"type":"input_image","image_url":"data:image/png;base64,iVBORw0K"}',
        "anthropic": '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}}',
    }
    assert expected[kind] in sent
    assert "what is this?" in sent


@every_format
def test_the_key_goes_where_the_format_wants_it(kind: str) -> None:
    with Loopback() as server:
        ask(model(kind, server), [user("hi")])
        headers = server.requests[0].headers
    if kind == "anthropic":
        assert headers["x-api-key"] == "sk-secret"
        assert headers["anthropic-version"] == "2023-06-01"
    else:
        assert headers["authorization"] == "Bearer sk-secret"


@every_format
def test_too_long_a_request_is_told_apart_and_the_window_learnt(kind: str) -> None:
    with Loopback(troubles=[Trouble(status=400, body=OVERFLOW[kind])]) as server:
        asked = model(kind, server)
        with pytest.raises(ContextOverflow, match="too long"):
            ask(asked, [user("hi")])
        assert len(server.requests) == 1
    assert asked.window == (128_000 if kind == "responses" else 8192)


IN_STREAM: Mapping[str, Sequence[str]] = {
    "chat": ['{"error":{"message":"overloaded","code":529}}', '{"error":{"message":"bad key","code":401}}'],
    "responses": [
        '{"type":"error","code":"rate_limit_exceeded","message":"slow down"}',
        '{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"no credit"}}}',
    ],
    "anthropic": [
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        '{"type":"error","error":{"type":"authentication_error","message":"bad key"}}',
    ],
}


@every_format
def test_an_error_in_the_stream_is_what_it_would_have_been_before_it(kind: str) -> None:
    passing, lasting = IN_STREAM[kind]
    with Loopback([{"text": "there"}] * 2, troubles=[Trouble(error=passing, at=1)]) as server:
        assert ask(model(kind, server), [user("hi")]).text == "there"
        assert len(server.requests) == 2
    lost = Loopback([{"text": "there"}], troubles=[Trouble(error=lasting, at=1)])
    with lost as server, pytest.raises(UserError) as caught:
        ask(model(kind, server), [user("hi")])
    assert caught.value.fault is Fault.CREDENTIALS
    with Loopback([{"text": "one two three four"}], troubles=[Trouble(error=passing, at=4)]) as server:
        with pytest.raises(CutOff, match="in the middle of a reply"):
            ask(model(kind, server), [user("hi")])
        assert len(server.requests) == 1


@every_format
def test_an_answer_whose_very_end_is_missing_is_taken(kind: str) -> None:
    """The model has said why it stopped: a second answer would cost as much and say the same."""
    with Loopback([{"text": "there"}]) as server:
        ask(model(kind, server), [user("hi")])
    cut = server.requests[0].sent - (len("data: [DONE]\n\n") if kind == "chat" else 0)
    with Loopback([{"text": "there", "repeat": 2}], troubles=[Trouble(cut_after=cut)]) as server:
        got = ask(model(kind, server), [user("hi")])
    assert [request.sent for request in server.requests] == [cut]
    assert (got.text, got.stop) == ("there", "end")


MISSHAPEN: Mapping[str, str] = {
    "chat": '{"choices":[{"message":{"content":null},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens_details":5}}',
    "responses": '{"object":"response","status":"completed","output":[],"usage":{"input_tokens_details":5}}',
    "anthropic": '{"type":"message","content":[{"type":"tool_use","name":"read"}],"stop_reason":"tool_use"}',
}
"""Answers whose fault shows when the reply is put together."""


@every_format
@pytest.mark.parametrize("body", [None, "[" * 50_000], ids=["parts", "nested"])
def test_an_answer_of_another_shape_is_asked_for_again(kind: str, body: str | None) -> None:
    trouble = Trouble(status=200, body=body or MISSHAPEN[kind])
    with Loopback([{"text": "there"}], troubles=[trouble]) as server:
        assert ask(model(kind, server), [user("hi")]).text == "there"
        assert len(server.requests) == 2


def test_anthropic_gets_all_observations_of_a_batch_in_one_message() -> None:
    with Loopback([TURN, {"text": "done"}]) as server:
        asked = model("anthropic", server)
        got = ask(asked, [user("go")])
        said, first, second = answered(got, "A", "B")
        assert isinstance(second, ToolMessage)
        failed = ToolMessage(call=second.call, name="", text="B", failed=True)
        ask(asked, [user("go"), said, first, failed, user("hurry")])
        messages = server.requests[1].body["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "user", "user"]
    results = messages[2]["content"]
    assert [each["type"] for each in results] == ["tool_result", "tool_result"]
    assert [each.get("is_error") for each in results] == [None, True]


def test_anthropic_is_asked_to_cache_the_beginning_and_the_end() -> None:
    refusal = (
        '{"error":{"type":"invalid_request_error","message":"cache_control: Extra inputs are not permitted"}}'
    )
    with Loopback([{"text": "a", "repeat": 2}], troubles=[None, Trouble(status=400, body=refusal)]) as server:
        asked = model("anthropic", server)
        ask(asked, [user("hi")])
        ask(asked, [user("hi")])
        first, _, third = (request.body for request in server.requests)
    assert first["system"][0]["cache_control"] == first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in third
    assert third["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


class Passing(UserMessage):
    passing = True


def test_what_stands_in_one_request_only_is_not_cached() -> None:
    """Else no request would find what the one before had cached."""
    conversation: list[Message] = [user("hi"), Passing(text="left: $1")]
    with Loopback([{"text": "a", "repeat": 2}]) as server:
        ask(model("anthropic", server), conversation)
        ask(model("chat", server, dialect=ChatDialect(mark=True)), conversation)
        first, second = (request.body for request in server.requests)
    for body in (first, second):
        assert "cache_control" not in body
        said, passing = body["messages"][-2:]
        assert said["content"][-1]["cache_control"] == {"type": "ephemeral"}
        assert "cache_control" not in str(passing)


def test_anthropic_says_how_much_may_be_answered_and_is_believed() -> None:
    refusal = (
        '{"error":{"type":"invalid_request_error","message":'
        '"max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for tiny"}}'
    )
    with Loopback(troubles=[Trouble(status=400, body=refusal)]) as server:
        ask(model("anthropic", server), [user("hi")])
        assert [request.body["max_tokens"] for request in server.requests] == [32000, 8192]


def test_thinking_is_asked_for_in_the_way_that_the_model_takes() -> None:
    refusal = '{"error":{"type":"invalid_request_error","message":"adaptive thinking is not supported"}}'
    with Loopback(troubles=[Trouble(status=400, body=refusal)]) as server:
        ask(model("anthropic", server, dialect=AnthropicDialect(effort="low")), [user("hi")])
        first, second = (request.body for request in server.requests)
    assert (first["thinking"], first["output_config"]) == ({"type": "adaptive"}, {"effort": "low"})
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    refusal = '{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}'
    with Loopback(troubles=[Trouble(status=400, body=refusal)]) as server:
        ask(model("responses", server, dialect=ResponsesDialect(effort="high")), [user("hi")])
        first, second = (request.body for request in server.requests)
    assert first["reasoning"] == {"effort": "high", "summary": "auto"}
    assert "include" in first
    assert "include" not in second


def test_a_temperature_is_sent_and_left_out_where_it_is_refused() -> None:
    refusal = '{"error":{"type":"invalid_request_error","message":"Unsupported parameter: temperature"}}'
    dialects: dict[str, Any] = {
        "chat": ChatDialect(temperature=0.3),
        "responses": ResponsesDialect(temperature=0.3),
        "anthropic": AnthropicDialect(temperature=0.3),
    }
    for wire, dialect in dialects.items():
        with Loopback(troubles=[Trouble(status=400, body=refusal)]) as server:
            ask(model(wire, server, dialect=dialect), [user("hi")])
            first, second = (request.body for request in server.requests)
        assert first["temperature"] == 0.3
        assert "temperature" not in second


def test_a_chat_endpoint_that_names_the_responses_endpoint_is_left_for_it() -> None:
    body = (
        '{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions."}}'
    )
    from agent.model.wire_formats.openai_responses import ResponsesWire

    with Loopback([{"text": "there"}], troubles=[Trouble(status=404, body=body)]) as server:
        asked = model("chat", server, instead=lambda: ResponsesWire("tiny"))
        assert ask(asked, [user("hi")]).text == "there"
        assert [request.path for request in server.requests] == ["/v1/chat/completions", "/v1/responses"]


def test_ids_and_names_of_other_providers_are_made_fit_for_anthropic() -> None:
    action = Action(id="call:1/ü", tool="my.tool", arguments={"a": 1})
    messages = [
        user("go"),
        AssistantMessage(text="", actions=(action,)),
        ToolMessage(call="call:1/ü", name="my.tool", text=""),
    ]
    with Loopback() as server:
        ask(model("anthropic", server), messages)
        _, said, result = server.requests[0].body["messages"]
    use = said["content"][0]
    assert (use["id"], use["name"]) == ("call_1__", "my_tool")
    assert result["content"][0]["tool_use_id"] == use["id"]


def test_interleaved_thinking_stays_where_it_stood() -> None:
    kept: list[dict[str, Any]] = [
        {"wire": "anthropic", "at": 0, "block": {"type": "thinking", "thinking": "1", "signature": "s"}},
        {"wire": "anthropic", "at": 2, "block": {"type": "redacted_thinking", "data": "2"}},
    ]
    actions = tuple(Action(id=each, tool="read", arguments={}) for each in ("a", "b"))
    results = [ToolMessage(call=each.id, name="read", text="") for each in actions]
    with Loopback() as server:
        said = AssistantMessage(text="hm", actions=actions, kept=tuple(kept))
        ask(model("anthropic", server), [user("go"), said, *results])
        content = server.requests[0].body["messages"][1]["content"]
    kinds = [block["type"] for block in content]
    assert kinds == ["thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
