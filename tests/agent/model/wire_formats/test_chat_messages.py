from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.protocol import AssistantMessage, Reply, ToolMessage, Usage
from agent.model.wire_formats.chat_assembler import ChatAssembler
from agent.model.wire_formats.chat_messages import message_to_json
from agent.model.wire_formats.tool_arguments import parse_action
from agent.model.wire_formats.wire_protocol import EventParser
from tools.core.action import Action

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), min_size=1)


@pytest.mark.slow
@given(st.lists(TEXTS), st.sampled_from(["\n", "\r\n", "\r"]), st.integers(1, 7))
def test_events_are_the_same_however_their_bytes_are_cut(texts: list[str], end: str, size: int) -> None:
    stream = "".join(f": comment{end}event: x{end}data: {text}{end}{end}" for text in texts).encode()
    parser, events = EventParser(), list[str]()
    for start in range(0, len(stream), size):
        events += parser.feed(stream[start : start + size])
    assert events + parser.finish() == texts


def test_data_of_several_lines_is_one_event() -> None:
    assert EventParser().feed(b"data: a\ndata:b\n\ndata: c") == ["a\nb"]


def test_the_last_event_needs_no_empty_line() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\n\ndata: b") == ["a"]
    assert parser.finish() == ["b"]


def put_together(*deltas: Mapping[str, Any], finish: str = "stop") -> Reply:
    assembler = ChatAssembler()
    for delta in deltas:
        list(assembler.feed({"choices": [{"delta": delta, "finish_reason": None}]}))
    list(assembler.feed({"choices": [{"delta": {}, "finish_reason": finish}]}))
    return assembler.build_reply(assembler.usage)


def piece(arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"tool_calls": [{**more, "function": {**name, "arguments": arguments}}]}


CALLS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "numbered": [
        piece("", index=0, id="a", name="read"),
        piece('{"p":', index=0),
        piece("", index=1, id="b", name="list"),
        piece("1}", index=0),
        piece('{"q":2}', index=1),
    ],
    "all numbered 0": [
        piece('{"p":1}', index=0, id="a", name="read"),
        piece('{"q":2}', index=0, id="b", name="list"),
    ],
    "not numbered": [
        piece('{"p":', id="a", name="read"),
        piece("1}"),
        piece('{"q":2}', id="b", name="list"),
    ],
    "name repeated in each piece": [
        piece('{"p":', index=0, id="a", name="read"),
        piece("1}", index=0, id="a", name="read"),
        piece('{"q":2}', index=1, id="b", name="list"),
    ],
    "nulls where nothing is new": [
        piece('{"p":1}', index=0, id="a", name="read"),
        {"content": None, "reasoning_content": None, "tool_calls": None, "refusal": None},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "list", "arguments": None}}]},
        {"tool_calls": [{"index": 1, "id": None, "function": {"name": None, "arguments": '{"q":2}'}}]},
    ],
    "arguments as an object": [
        {"tool_calls": [{"id": "a", "function": {"name": "read", "arguments": {"p": 1}}}]},
        {"tool_calls": [{"id": "b", "function": {"name": "list", "arguments": {"q": 2}}}]},
    ],
}


@pytest.mark.parametrize("pieces", CALLS.values(), ids=CALLS)
def test_calls_are_put_together_from_every_server_s_pieces(pieces: Sequence[Mapping[str, Any]]) -> None:
    got = put_together(*pieces)
    assert [(a.id, a.tool, a.arguments) for a in got.actions] == [
        ("a", "read", {"p": 1}),
        ("b", "list", {"q": 2}),
    ]
    assert got.stop == "actions"


@pytest.mark.parametrize("given_id", ["", "same"])
def test_every_call_of_a_reply_has_an_id_of_its_own(given_id: str) -> None:
    pieces = [piece("{}", index=n, id=given_id, name="read") for n in range(3)]
    ids = [action.id for action in put_together(*pieces).actions]
    assert len(set(ids)) == 3
    assert all(ids)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "end"), ("length", "length"), ("content_filter", "refusal"), ("eos", "end"), ("odd", "other")],
)
def test_why_the_model_stopped_is_told(finish: str, stop: str) -> None:
    assert put_together({"content": "x"}, finish=finish).stop == stop


def test_a_refusal_is_text_and_a_reason() -> None:
    assert put_together({"refusal": "I won't."}) == Reply(text="I won't.", stop="refusal")


def test_content_in_parts_is_told_apart_into_text_and_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    got = put_together({"content": parts}, {"reasoning": " indeed"})
    assert (got.reasoning, got.text) == ("hm indeed", "yes")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
        {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4, "prompt_tokens_details": None},
    ],
)
def test_cached_tokens_are_found_where_each_server_puts_them(usage: Mapping[str, Any]) -> None:
    assembler = ChatAssembler()
    list(assembler.feed({"choices": [], "usage": usage}))
    assert assembler.usage == Usage(input=9, cached=4, output=2)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [("{bad", "not JSON"), ("[1]", "must be a JSON object, not list"), ('"x"', "not str")],
)
def test_bad_arguments_keep_their_text_and_say_what_is_wrong(raw: str, problem: str) -> None:
    action = parse_action("c", "read", raw)
    assert (action.arguments, action.raw) == ({}, raw)
    assert problem in action.problem


def test_arguments_cut_at_the_output_limit_say_so() -> None:
    got = put_together(piece('{"content": "long', index=0, id="a", name="write"), finish="length")
    assert "output limit" in got.actions[0].problem
    assert got.stop == "length"


def test_no_arguments_and_raw_control_characters_are_accepted() -> None:
    assert parse_action("c", "git_status", "").arguments == {}
    assert parse_action("c", "write", '{"content": "a\nb\tc"}').arguments == {"content": "a\nb\tc"}


WORDS = st.text(max_size=9)
VALUES = st.none() | st.booleans() | st.integers() | WORDS | st.lists(WORDS, max_size=3)


@pytest.mark.slow
@given(st.dictionaries(WORDS, VALUES, max_size=4))
def test_an_action_survives_the_way_to_the_server_and_back(arguments: dict[str, Any]) -> None:
    message = AssistantMessage(text="", actions=(Action(id="c", tool="t", arguments=arguments),))
    call = message_to_json(message, reasoning=False)["tool_calls"][0]
    back = parse_action(call["id"], call["function"]["name"], call["function"]["arguments"])
    assert (back.id, back.tool, back.arguments, back.problem) == ("c", "t", arguments, "")


def test_data_that_is_for_models_in_this_process_is_never_sent() -> None:
    message = ToolMessage(call="c", name="t", text="shown", data={"secret": 1})
    assert "secret" not in json.dumps(message_to_json(message, reasoning=False))
