"""Servers that refuse a message without content, and replies that a filter ends."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from agent.model.protocol import AssistantMessage, Request, ToolMessage
from agent.model.wire_formats.chat_completions import ChatDialect, ChatWire
from sandbox.errors import UserError
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
        (422, "Field required: messages -> 2 -> content"),
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


@pytest.mark.parametrize("reason", ["content_filter", "content-filter", "SAFETY", "guardrail_intervened"])
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


def fail(code: object) -> bytes:
    """Return the events of a response that failed."""
    error = {"code": code, "message": "Blocked here."}
    return format_events(
        {"type": "response.failed", "response": {"status": "failed", "error": error, "output": []}}
    )


@pytest.mark.parametrize("code", ["bio_policy", "image_content_policy_violation", "content_filter"])
def test_a_response_that_a_policy_forbids_is_a_refusal_and_asked_for_once(code: str) -> None:
    with RawEndpoint(answer_in_turn(fail(code))) as server:
        reply = ask(model("responses", server), [user("go")])
        assert (reply.stop, reply.text, len(server.requests)) == ("refusal", "Blocked here.", 1)


@pytest.mark.parametrize(
    ("code", "requests"), [("invalid_image", 1), ("a_new_code", 1), ("server_error", 2), (None, 2)]
)
def test_only_passing_failures_of_a_response_are_tried_again(code: object, requests: int) -> None:
    done = format_events({"type": "response.completed", "response": {"status": "completed", "output": []}})
    with RawEndpoint(answer_in_turn(fail(code), done)) as server:
        with suppress(UserError):
            ask(model("responses", server), [user("go")])
        assert len(server.requests) == requests


def response(status: object, **usage: object) -> bytes:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Part"}]}
    whole = {"status": status, "output": [item], "usage": usage}
    return format_events({"type": "response.completed", "response": whole})


def completion(reason: str) -> bytes:
    return format_events({"choices": [{"delta": {"content": "Part"}, "finish_reason": reason}]})


@pytest.mark.parametrize(
    ("kind", "events", "stop"),
    [
        ("responses", response("completed"), "end"),
        ("responses", response(None), "end"),
        ("responses", response("cancelled"), "other"),
        ("responses", response("in_progress"), "other"),
        ("chat", completion("COMPLETE"), "end"),
        ("chat", completion("error"), "other"),
        ("chat", completion("TOO_MANY_TOOL_CALLS"), "other"),
    ],
)  # fmt: skip
def test_only_a_known_end_is_an_end(kind: str, events: bytes, stop: str) -> None:
    with RawEndpoint(answer_in_turn(events)) as server:
        assert ask(model(kind, server), [user("go")]).stop == stop


def test_tokens_that_were_written_to_the_cache_are_read() -> None:
    events = response(
        "completed", input_tokens=1000, input_tokens_details={"cached_tokens": 40, "cache_write_tokens": 900}
    )
    details = {"cached_tokens": 40, "cache_write_tokens": 900}
    chat = format_events(
        DONE, {"choices": [], "usage": {"prompt_tokens": 1000, "prompt_tokens_details": details}}
    )
    for kind, sent in (("responses", events), ("chat", chat)):
        with RawEndpoint(answer_in_turn(sent)) as server:
            usage = ask(model(kind, server), [user("go")]).usage
        assert (usage.input, usage.cached, usage.written) == (1000, 40, 900), kind


@pytest.mark.parametrize(("filtered", "said"), [(True, "the provider's filter"), (False, "no answer")])
def test_results_of_a_filter_tell_why_a_reply_is_empty(filtered: bool, said: str, tmp_path: Path) -> None:
    results = {"hate": {"filtered": filtered, "severity": "high"}, "violence": {"filtered": False}}
    choice = {
        "index": 0,
        "delta": {"content": ""},
        "finish_reason": "stop",
        "content_filter_results": results,
    }
    with RawEndpoint(answer_in_turn(format_events({"choices": [choice]}))) as server:
        it = bench(tmp_path, [], [finish], snapshots=False)
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        end = it.turn("go")
        asyncio.run(it.runtime.close())
    assert end.exit_code == 13
    assert said in end.summary


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"type": "refusal", "category": "cyber", "explanation": "No."}, "Part\n\n(Refused: cyber: No.)"),
        ({"type": "refusal", "category": "bio", "explanation": None}, "Part\n\n(Refused: bio)"),
        ({"type": "refusal", "category": None, "explanation": None}, "Part"),
        ("a new form", "Part"),
        (None, "Part"),
    ],
)
def test_a_refusal_tells_what_it_is_about(details: object, said: str) -> None:
    usage = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    events = format_events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Part"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_details": details},
            "usage": usage,
        },
        {"type": "message_stop"},
    )
    with RawEndpoint(answer_in_turn(events)) as server:
        reply = ask(model("anthropic", server), [user("go")])
    assert (reply.stop, reply.text, reply.usage.reasoning) == ("refusal", said, 4)
