"""The end of a streamed reply: any mark of an end counts, and only a missing one is a break."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agent.model.protocol import CutOff, Reply
from sandbox.errors import UserError
from tests.support.asking import ask, user
from tests.support.formats import model
from tests.support.raw_endpoint import RawAnswer, RawEndpoint, answer_in_turn, build_refusal, format_events

Events = list[Any]


def chat(delta: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]}


def call(arguments: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return chat({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})


USAGE = {"prompt_tokens": 10, "completion_tokens": 5}
TEXT = [
    chat({"role": "assistant", "content": "The answer "}),
    chat({"content": "is "}),
    chat({"content": "42."}),
]
CALL = [call('{"path": '), chat({"tool_calls": [{"index": 0, "function": {"arguments": '"a.py"}'}}]})]
ITEM = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "The answer is 42."}],
}
ASKED = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a.py"}'}


def responses(item: Mapping[str, Any], *, deltas: bool = True, done: bool = True) -> Events:
    events: Events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}}
    ]
    if deltas and item["type"] == "message":
        text = item["content"][0]["text"]
        events += [
            {"type": "response.output_text.delta", "output_index": 0, "delta": each}
            for each in (text[:5], text[5:])
        ]
    elif deltas:
        kind = "response.function_call_arguments"
        events += [{"type": f"{kind}.delta", "output_index": 0, "delta": item["arguments"]}]
        events += [{"type": f"{kind}.done", "output_index": 0, "arguments": item["arguments"]}]
    return events + ([{"type": "response.output_item.done", "output_index": 0, "item": item}] if done else [])


def messages(*, text: str = "The answer is 42.", used: bool = False, closed: bool = True) -> Events:
    start = (
        {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
        if used
        else {"type": "text", "text": ""}
    )
    kind, field = ("input_json_delta", "partial_json") if used else ("text_delta", "text")
    given = '{"path": "a.py"}' if used else text
    return [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: given}},
        *([{"type": "content_block_stop", "index": 0}] if closed else []),
    ]


WHOLE: Mapping[str, tuple[str, Events, str]] = {
    "chat: [DONE] alone": ("chat", [*TEXT, "[DONE]"], "chunks"),
    "chat: an empty reason": ("chat", [*TEXT, chat({}, finish_reason=""), "[DONE]"], "length"),
    "chat: counts without choices": ("chat", [*TEXT, {"choices": [], "usage": USAGE}], "cut"),
    "chat: counts without a list of choices": ("chat", [*TEXT, {"usage": USAGE}], "cut"),
    "chat: the reason beside the counts": (
        "chat",
        [*TEXT, {"choices": [], "usage": USAGE, "finish_reason": "stop"}],
        "cut",
    ),
    "chat: the body's end": ("chat", TEXT, "chunks"),
    "chat: the body's end by its length": ("chat", TEXT, "length"),
    "chat: the connection's end": ("chat", TEXT, "close"),
    "responses: [DONE] alone": ("responses", [*responses(ITEM, done=False), "[DONE]"], "chunks"),
    "responses: finished items": ("responses", responses(ITEM), "chunks"),
    "responses: finished items without deltas": ("responses", responses(ITEM, deltas=False), "close"),
    "responses: another word": (
        "responses",
        [*responses(ITEM), {"type": "response.done", "response": {"output": [ITEM]}}],
        "cut",
    ),
    "anthropic: a stop without a reason": ("anthropic", [*messages(), {"type": "message_stop"}], "cut"),
    "anthropic: an empty reason": (
        "anthropic",
        [*messages(), {"type": "message_delta", "delta": {"stop_reason": None}}],
        "length",
    ),
    "anthropic: closed blocks": ("anthropic", messages(), "chunks"),
    "anthropic: [DONE]": ("anthropic", [*messages(closed=False), "[DONE]"], "chunks"),
}

CALLS: Mapping[str, tuple[str, Events, str]] = {
    "chat: [DONE] alone": ("chat", [*CALL, "[DONE]"], "chunks"),
    "chat: counts": ("chat", [*CALL, {"choices": [], "usage": USAGE}], "cut"),
    "chat: the body's end": ("chat", CALL, "close"),
    "responses: finished items": ("responses", responses(ASKED), "chunks"),
    "responses: finished arguments": ("responses", [*responses(ASKED, done=False), "[DONE]"], "chunks"),
    "responses: whole arguments in parts": ("responses", responses(ASKED, done=False)[:2], "chunks"),
    "responses: an end without a response": (
        "responses",
        [*responses(ASKED, done=False)[:2], {"type": "response.completed"}],
        "cut",
    ),
    "responses: finished arguments at the body's end": ("responses", responses(ASKED, done=False), "close"),
    "anthropic: closed blocks": ("anthropic", messages(used=True), "close"),
    "anthropic: whole arguments": ("anthropic", messages(used=True, closed=False), "chunks"),
    "anthropic: a stop without a reason": (
        "anthropic",
        [*messages(used=True), {"type": "message_stop"}],
        "chunks",
    ),
}

BROKEN: Mapping[str, tuple[str, Events, str]] = {
    "chat: half a call": ("chat", CALL[:1], "chunks"),
    "chat: a call without arguments": ("chat", [call("")], "close"),
    "chat: a reset": ("chat", CALL, "cut"),
    "chat: nothing": ("chat", [], "chunks"),
    "chat: text behind the counts": ("chat", [{"choices": [], "usage": USAGE}, *CALL[:1]], "chunks"),
    "responses: half a call": (
        "responses",
        responses({**ASKED, "arguments": '{"path": "a'}, done=False)[:2],
        "chunks",
    ),
    "responses: nothing": ("responses", [{"type": "response.created", "response": {}}], "length"),
    "anthropic: half a call": (
        "anthropic",
        [
            *messages(used=True, closed=False)[:2],
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"path": "a'},
            },
        ],
        "chunks",
    ),
    "anthropic: an open text": ("anthropic", messages(closed=False)[:2], "chunks"),
    "anthropic: nothing": ("anthropic", messages()[:1], "close"),
}


def ask_for(kind: str, events: Events, framing: Any) -> Reply:
    is_cut = framing == "cut"
    answer = RawAnswer(
        pieces=[format_events(*events)], framing="chunks" if is_cut else framing, is_cut=is_cut
    )
    with RawEndpoint(answer_in_turn(answer, build_refusal("asked again"))) as server:
        return ask(model(kind, server), [user("go")])


@pytest.mark.parametrize("name", WHOLE)
def test_a_text_is_whole_with_any_mark_of_its_end(name: str) -> None:
    reply = ask_for(*WHOLE[name])
    assert (reply.text, reply.stop, reply.actions) == ("The answer is 42.", "end", ())


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_whole_with_any_mark_of_its_end(name: str) -> None:
    reply = ask_for(*CALLS[name])
    assert [(each.tool, each.arguments, each.problem) for each in reply.actions] == [
        ("read", {"path": "a.py"}, "")
    ]
    assert reply.stop == "actions"


@pytest.mark.parametrize("name", BROKEN)
def test_a_missing_end_is_a_break(name: str) -> None:
    with pytest.raises(UserError, match="asked again"):
        ask_for(*BROKEN[name])


def test_half_an_event_at_the_end_is_a_break() -> None:
    body = format_events(*TEXT) + b'data: {"choices": [{"del'
    with RawEndpoint(answer_in_turn(body)) as server, pytest.raises(CutOff):
        ask(model("chat", server), [user("go")])


def test_a_whole_answer_without_a_reason_is_one() -> None:
    made = {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": ""}}],
        },
    }
    import json

    body = RawAnswer(
        pieces=[json.dumps({"choices": [made]}).encode()], kind="application/json", framing="length"
    )
    with RawEndpoint(answer_in_turn(body)) as server:
        reply = ask(model("chat", server), [user("go")])
    assert [(each.tool, each.arguments) for each in reply.actions] == [("read", {})]
