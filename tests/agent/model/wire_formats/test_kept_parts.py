"""What a server attaches to its messages, parts and calls goes back to it, in order, and to no other endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent.events import AskedAction, MessageEvent
from agent.events.parsing import parse_event
from agent.events.serialization import render_event
from agent.model.protocol import AssistantMessage, Message, Reply, ToolMessage
from tests.support.asking import ask, user
from tests.support.formats import KINDS, model
from tests.support.raw_endpoint import RawEndpoint, answer_in_turn, build_refusal, format_events

SEALED = "s3aled-by-the-server"
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}


def chat(*deltas: Mapping[str, Any]) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return format_events(*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]")


def details(**fields: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]}


def google(sealed: str) -> dict[str, Any]:
    return {"extra_content": {"google": {"thought_signature": sealed}}}


def responses(*items: Mapping[str, Any]) -> bytes:
    done = [
        {"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)
    ]
    return format_events(
        *done, {"type": "response.completed", "response": {"status": "completed", "output": items}}
    )


def said(text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text}],
        **more,
    }


def asked(**more: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "f",
        "call_id": "c1",
        "name": "read",
        "arguments": '{"path": "a"}',
        **more,
    }


def messages(*blocks: Mapping[str, Any]) -> bytes:
    parts = [
        [
            {"type": "content_block_start", "index": n, "content_block": block},
            {"type": "content_block_stop", "index": n},
        ]
        for n, block in enumerate(blocks)
    ]
    return format_events(
        *[each for part in parts for each in part],
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


USED = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": SEALED}

CASES: Mapping[str, tuple[str, bytes, list[Any]]] = {
    "chat: details of reasoning in pieces": (
        "chat",
        chat(
            details(text="one "),
            details(text="two"),
            details(signature=SEALED),
            {"tool_calls": [{"index": 0, **CALL}]},
        ),
        [
            {
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "one two", "signature": SEALED}
                ]
            }
        ],
    ),
    "chat: two sealed details": (
        "chat",
        chat(
            *(
                {
                    "reasoning_details": [
                        {"type": "reasoning.encrypted", "id": name, "index": 0, "data": SEALED}
                    ]
                }
                for name in "ab"
            ),
            {"tool_calls": [{"index": 0, **CALL}]},
        ),
        [
            {
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "id": name, "index": 0, "data": SEALED} for name in "ab"
                ]
            }
        ],
    ),
    "chat: a signature at a call": (
        "chat",
        chat({"tool_calls": [{"index": 0, **CALL, **google(SEALED)}]}),
        [{"tool_calls": [{**CALL, **google(SEALED)}]}],
    ),
    "chat: a signature in a function": (
        "chat",
        chat(
            {
                "tool_calls": [
                    {"index": 0, **CALL, "function": {**CALL["function"], "thought_signature": SEALED}}
                ]
            }
        ),  # type: ignore[dict-item]
        [{"tool_calls": [{**CALL, "function": {**CALL["function"], "thought_signature": SEALED}}]}],  # type: ignore[dict-item]
    ),
    "chat: a content of parts": (
        "chat",
        chat(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": SEALED}
                ]
            },
            {"content": [{"type": "text", "text": "I "}]},
            {"content": [{"type": "text", "text": "look."}], "tool_calls": [{"index": 0, **CALL}]},
        ),
        [
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "signature": SEALED},
                    {"type": "text", "text": "I look."},
                ]
            }
        ],
    ),
    "responses: thoughts among the rest": (
        "responses",
        responses(
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": SEALED},
            said("Look.", phase="commentary"),
            {"type": "reasoning", "id": "r2", "summary": [], "encrypted_content": "2"},
            asked(),
        ),
        [
            {"encrypted_content": SEALED},
            {"role": "assistant", "phase": "commentary"},
            {"encrypted_content": "2"},
            {"call_id": "c1"},
        ],
    ),
    "responses: a field of a call": (
        "responses",
        responses(asked(namespace=SEALED)),
        [{"call_id": "c1", "namespace": SEALED}],
    ),
    "responses: an item of another kind": (
        "responses",
        responses({"type": "compaction", "id": "x", "encrypted_content": SEALED}, asked()),
        [{"type": "compaction", "encrypted_content": SEALED}, {"call_id": "c1"}],
    ),
    "anthropic: thoughts between texts": (
        "anthropic",
        messages(
            THOUGHT,
            {"type": "text", "text": "One."},
            {"type": "thinking", "thinking": "so", "signature": "2"},
            {"type": "text", "text": "Two."},
            USED,
        ),
        [
            THOUGHT,
            {"type": "text", "text": "One."},
            {"type": "thinking", "signature": "2"},
            {"type": "text", "text": "Two."},
            USED,
        ],
    ),
    "anthropic: a field of a call": (
        "anthropic",
        messages({**USED, "caller": {"type": SEALED}}),
        [{**USED, "caller": {"type": SEALED}}],
    ),
    "anthropic: a block of another kind": (
        "anthropic",
        messages({"type": "fallback", "model": SEALED}, {"type": "text", "text": "Two."}, USED),
        [{"type": "fallback", "model": SEALED}, {"type": "text"}, USED],
    ),
}


def log(reply: Reply) -> AssistantMessage:
    """The message of a reply, through the log and back."""
    actions = [
        AskedAction(id=each.id, tool=each.tool, arguments=dict(each.arguments)) for each in reply.actions
    ]
    event = parse_event(
        render_event(MessageEvent(text=reply.text, actions=actions, kept=[dict(each) for each in reply.kept]))
    )
    assert isinstance(event, MessageEvent)
    return AssistantMessage(text=event.text, actions=reply.actions, kept=tuple(event.kept))


def converse(reply: Reply) -> list[Message]:
    return [user("go"), log(reply), ToolMessage(call="c1", name="read", text="ok")]


def find_sent(kind: str, body: Mapping[str, Any]) -> list[Any]:
    """The parts of the assistant's message, as they were sent back."""
    if kind == "responses":
        return [
            each
            for each in body["input"]
            if each.get("role") != "user" and each.get("type") != "function_call_output"
        ]
    sent = next(each for each in body["messages"] if each["role"] == "assistant")
    return [sent] if kind == "chat" else list(sent["content"])


def contains(sent: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return isinstance(sent, dict) and all(
            contains(sent.get(key), value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(sent, list) and len(sent) == len(expected) and all(map(contains, sent, expected))
    if isinstance(expected, str) and expected.startswith("{"):  # arguments, in any spelling
        return bool(json.loads(sent) == json.loads(expected))
    return bool(sent == expected)


@pytest.mark.parametrize("name", CASES)
def test_what_a_server_attached_goes_back_to_it_in_order_and_to_no_other(name: str) -> None:
    kind, answer, expected = CASES[name]
    with (
        RawEndpoint(answer_in_turn(answer, chat({"content": "done"}))) as server,
        RawEndpoint(answer_in_turn(answer)) as other,
    ):
        history = converse(ask(model(kind, server), [user("go")]))
        with_this = model(kind, server)
        for asked_model in (with_this, model(kind, other)):
            try:
                ask(asked_model, history)
            except Exception:
                assert server.requests[1:]
        assert contains(find_sent(kind, server.requests[1]), expected), find_sent(kind, server.requests[1])
        assert SEALED not in json.dumps(other.requests)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_that_was_shortened_keeps_its_attachments_and_its_new_text(kind: str) -> None:
    answers = {
        "chat": chat({"content": "a long text", **details(text="x", signature=SEALED)}),
        "responses": responses(
            {"type": "reasoning", "summary": [], "encrypted_content": SEALED}, said("a long "), said("text")
        ),
        "anthropic": messages(THOUGHT, {"type": "text", "text": "a long "}, {"type": "text", "text": "text"}),
    }
    with RawEndpoint(answer_in_turn(answers[kind])) as server:
        reply = ask(model(kind, server), [user("go")])
        assert reply.text == "a long text"
        ask(model(kind, server), [user("go"), log(replace(reply, text="cut")), user("and?")])
        sent = json.dumps(find_sent(kind, server.requests[1]))
    assert SEALED in sent
    assert sent.count("cut") == 1
    assert "long" not in sent


COMMENTED = {
    "before the answer": (
        [said("I look.", phase="commentary"), said("It is 2.", phase="final_answer")],
        ("It is 2.", "I look."),
    ),
    "twice, around a call": (
        [said("I look.", phase="commentary"), asked(), said("Then I edit.", phase="commentary")],
        ("", "I look.Then I edit."),
    ),
    "alone: there is no other answer": ([said("It is 2.", phase="commentary")], ("It is 2.", "It is 2.")),
    "an unknown phase": ([said("It is 2.", phase="draft")], ("It is 2.", "")),
}


@pytest.mark.parametrize(("items", "parts"), COMMENTED.values(), ids=list(COMMENTED))
def test_words_on_the_way_are_none_of_the_answer_and_go_back(
    items: list[dict[str, Any]], parts: tuple[str, str]
) -> None:
    phases = [each["phase"] for each in items if "phase" in each]
    with RawEndpoint(answer_in_turn(responses(*items), responses(said("done")))) as server:
        asked_model = model("responses", server)
        reply = ask(asked_model, [user("go")])
        assert (reply.text, reply.reasoning) == parts
        results = [ToolMessage(call=each.id, name=each.tool, text="ok") for each in reply.actions]
        ask(asked_model, [user("go"), log(reply), *results, user("and?")])
        sent = [each.get("phase") for each in server.requests[1]["input"] if each.get("role") == "assistant"]
    assert sent == phases


def test_words_whose_phase_is_told_after_them_go_back_once() -> None:
    """By a server that sends deltas of an item that it has not announced."""
    told = {"type": "response.output_text.delta", "output_index": 0, "delta": "I look."}
    stream = format_events(told) + responses(said("I look.", phase="commentary"), asked())
    with RawEndpoint(answer_in_turn(stream, responses(said("done")))) as server:
        asked_model = model("responses", server)
        reply = ask(asked_model, [user("go")])
        ask(asked_model, [user("go"), log(reply), ToolMessage(call="c1", name="read", text="ok")])
        sent = [each for each in server.requests[1]["input"] if each.get("role") == "assistant"]
    assert [(each["phase"], each["content"][0]["text"]) for each in sent] == [("commentary", "I look.")]


def test_a_plain_reply_keeps_nothing_beside_its_text_and_calls() -> None:
    plain = {
        "chat": chat(
            {"role": "assistant", "content": "Hi."},
            {"tool_calls": [{"index": 0, **CALL}], "annotations": [], "refusal": None},
        ),
        "responses": responses(said("Hi.", phase=None), asked()),
        "anthropic": messages({"type": "text", "text": "Hi.", "citations": None}, USED),
    }
    for kind, answer in plain.items():
        with RawEndpoint(answer_in_turn(answer)) as server:
            assert ask(model(kind, server), [user("go")]).kept == ()


@pytest.mark.parametrize(
    "said_by_server", ["Extra inputs are not permitted", "messages.1.reasoning_details: unknown field"]
)
def test_attachments_that_an_endpoint_refuses_are_left_out(said_by_server: str) -> None:
    first = chat({"content": "Hi.", **details(text="x", signature=SEALED)})
    with RawEndpoint(
        answer_in_turn(first, build_refusal(said_by_server, 422), chat({"content": "done"}))
    ) as server:
        asked_model = model("chat", server)
        reply = ask(asked_model, [user("go")])
        assert ask(asked_model, [user("go"), log(reply), user("and?")]).text == "done"
        assert [SEALED in json.dumps(each) for each in server.requests] == [False, True, False]


def test_a_log_of_an_older_version_gives_back_its_thoughts() -> None:
    kept = ({"wire": "anthropic", "at": 1, "block": THOUGHT},)
    older = AssistantMessage(text="Hi.", actions=(), kept=kept)
    sealed = AssistantMessage(
        text="Hi.",
        kept=({"wire": "openai-responses", "item": {"type": "reasoning", "encrypted_content": SEALED}},),
    )
    with RawEndpoint(answer_in_turn(messages({"type": "text", "text": "ok"}))) as server:
        ask(model("anthropic", server), [user("go"), older, user("and?")])
        assert find_sent("anthropic", server.requests[0]) == [{"type": "text", "text": "Hi."}, THOUGHT]
    with RawEndpoint(answer_in_turn(responses(said("ok")))) as server:
        ask(model("responses", server), [user("go"), sealed, user("and?")])
        assert [each.get("encrypted_content") for each in server.requests[0]["input"]][1] == SEALED
