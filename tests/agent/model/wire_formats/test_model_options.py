"""What a request asks of a provider beside the conversation, and what is learnt where it is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agent.model.protocol import Request, Usage
from agent.model.providers.model_catalog import Listing, Price
from agent.model.text_tools import TextTools
from agent.model.wire_formats.anthropic_messages import AnthropicDialect
from agent.model.wire_formats.chat_completions import ChatDialect
from agent.model.wire_formats.openai_responses import ResponsesDialect
from agent.model.wire_formats.refused_effort import choose_accepted_effort
from packages.search.answer_schema import build_answer_schema
from packages.search.review.answers import Review
from tests.support.asking import READ, answered, ask, deltas, user
from tests.support.formats import KINDS, model
from tests.support.loopback import Loopback, Trouble

every_format = pytest.mark.parametrize("kind", list(KINDS))


def refusal(message: str, **more: str) -> Trouble:
    error = {"message": message, "type": "invalid_request_error", **more}
    return Trouble(status=400, body=json.dumps({"error": error}))


def read_effort(body: dict[str, Any]) -> object:
    """The effort of a request, wherever its format has it."""
    places = (body.get("reasoning"), body.get("output_config"), {"effort": body.get("reasoning_effort")})
    return next((place["effort"] for place in places if place and place.get("effort")), None)


@pytest.mark.parametrize(
    ("effort", "said", "accepted"),
    [
        ("minimal", "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are:"
         " 'none', 'low', 'medium', and 'high'.", "none"),
        ("xhigh", "'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'minimal', 'low',"
         " 'medium', and 'high'.", "high"),
        ("max", 'level "max" not supported, valid levels: low, medium, high, xhigh', "xhigh"),
        ("minimal", "Invalid reasoning_effort: minimal. Valid values are: high, low, medium, none", "none"),
        ("xhigh", "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'", "high"),
        ("low", "Supported values are: 'medium'", "medium"),
        ("high", "Unknown parameter: reasoning_effort", ""),
        ("high", "the effort 'high' is not supported", ""),
    ],
)  # fmt: skip
def test_the_nearest_effort_that_a_refusal_lists_is_taken(effort: str, said: str, accepted: str) -> None:
    assert choose_accepted_effort(effort, said) == accepted


@every_format
def test_a_refused_effort_is_replaced_by_one_that_is_accepted(kind: str) -> None:
    dialects: dict[str, Any] = {
        "chat": ChatDialect(effort="max"),
        "responses": ResponsesDialect(effort="max"),
        "anthropic": AnthropicDialect(effort="max"),
    }
    told = refusal(
        "Unsupported value: 'max'. Supported values are: 'low', 'medium', and 'high'.",
        param="reasoning.effort",
    )
    with Loopback([{"text": "a"}, {"text": "b"}], troubles=[told]) as server:
        asked = model(kind, server, dialect=dialects[kind])
        ask(asked, [user("hi")])
        ask(asked, [user("again")])
        assert [read_effort(request.body) for request in server.requests] == ["max", "high", "high"]


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_effort_that_is_not_known_at_all_is_left_out(kind: str) -> None:
    dialect: Any = {"chat": ChatDialect, "responses": ResponsesDialect}[kind](effort="low")
    with Loopback(troubles=[refusal("Unknown parameter: reasoning_effort")]) as server:
        ask(model(kind, server, dialect=dialect), [user("hi")])
        assert [read_effort(request.body) for request in server.requests] == ["low", None]


def test_a_demand_for_the_reasoning_itself_changes_no_effort() -> None:
    told = refusal("The reasoning_content of the last message must be passed back")
    with Loopback(troubles=[told]) as server:
        asked = model("chat", server, dialect=ChatDialect(effort="low"))
        ask(asked, [user("hi")])
        assert [read_effort(request.body) for request in server.requests] == ["low", "low"]


def test_a_cache_that_is_kept_for_long_is_asked_for_and_paid() -> None:
    told = refusal("system.0.cache_control.ttl: Extra inputs are not permitted")
    listing = Listing(
        window=9, prices=(Price(0, 1.0, 1.0, 0.1, 1.25),), tiers={"1h": (Price(0, 1.0, 1.0, 0.1, 2.0),)}
    )
    request = Request(system="Be brief.", messages=[user("go")], tools=[READ])
    with Loopback([{"text": "a"}, {"text": "b"}], troubles=[Trouble(), told]) as server:
        asked = model("anthropic", server, dialect=AnthropicDialect(long=True), listing=lambda: listing)
        asyncio.run(deltas(asked, request))
        assert asked.price(Usage(input=10, written=10)) == 20
        asyncio.run(deltas(asked, request))
        assert asked.price(Usage(input=10, written=10)) == 12.5
        first, second, third = (each.body for each in server.requests)
    for body in (first, second):
        mark = {"type": "ephemeral", "ttl": "1h"}
        assert (body["cache_control"], body["system"][0]["cache_control"]) == (mark, mark)
    assert third["cache_control"] == third["system"][0]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_openai_is_asked_for_a_long_cache_and_a_class_of_service(kind: str) -> None:
    dialect: Any = {"chat": ChatDialect, "responses": ResponsesDialect}[kind]
    listing = Listing(window=9, prices=(Price(0, 2.0, 2.0, 1.0),), tiers={"flex": (Price(0, 1.0, 1.0, 0.5),)})
    troubles = [
        Trouble(),
        refusal("Unsupported parameter: prompt_cache_retention"),
        refusal("Invalid service_tier"),
    ]
    with Loopback([{"text": "a"}, {"text": "b"}], troubles=troubles) as server:
        asked = model(kind, server, dialect=dialect(retention="24h", tier="flex"), listing=lambda: listing)
        ask(asked, [user("hi")])
        assert asked.price(Usage(input=10)) == 10
        ask(asked, [user("again")])
        assert asked.price(Usage(input=10)) == 20, "refused: the usual service at its price"
        sent = [(r.body.get("prompt_cache_retention"), r.body.get("service_tier")) for r in server.requests]
    assert sent == [("24h", "flex"), ("24h", "flex"), (None, "flex"), (None, None)]


SCHEMA = {
    "type": "object",
    "properties": {"passes": {"type": "boolean"}},
    "required": ["passes"],
    "additionalProperties": False,
}


@every_format
def test_an_answer_has_to_fit_a_schema_where_the_endpoint_can_make_it(kind: str) -> None:
    told = refusal(
        "output_config.format, text.format and response_format of type json_schema are not supported"
    )
    request = Request(system="", messages=[user("go")], schema=SCHEMA)
    with Loopback([{"text": "{}"}], troubles=[told]) as server:
        asyncio.run(deltas(model(kind, server), request))
        first, second = (each.body for each in server.requests)
    forms = {
        "chat": lambda body: body["response_format"]["json_schema"]["schema"],
        "responses": lambda body: body["text"]["format"]["schema"],
        "anthropic": lambda body: body["output_config"]["format"]["schema"],
    }
    assert forms[kind](first) == SCHEMA
    assert not {"response_format", "text", "output_config"} & set(second)


def test_a_server_of_open_models_gets_no_schema_beside_tools() -> None:
    """Its grammar would leave no room for a call."""
    request = Request(system="", messages=[user("go")], tools=[READ], schema=SCHEMA)
    with Loopback([{"text": "{}"}] * 3) as server:
        asyncio.run(deltas(model("chat", server), request))
        asyncio.run(deltas(model("chat", server, dialect=ChatDialect(sticky="key")), request))
        asyncio.run(deltas(TextTools(model("chat", server), always=True), request))
        sent = ["response_format" in each.body for each in server.requests]
    assert sent == [False, True, False]


def test_a_strict_schema_names_all_properties_and_keeps_what_providers_check() -> None:
    schema = build_answer_schema(Review)
    problem = schema["$defs"]["Problem"]
    assert schema["required"] == ["accepts", "reason", "problems"]
    assert problem["required"] == ["what", "path", "line"]
    assert schema["additionalProperties"] is problem["additionalProperties"] is False
    assert problem["properties"]["line"] == {"type": "integer"}
    assert schema["properties"]["problems"] == {"items": {"$ref": "#/$defs/Problem"}, "type": "array"}


@every_format
def test_several_calls_of_one_reply_are_all_answered_in_the_next_request(kind: str) -> None:
    """Nothing forbids them, and their results go back together, each under its own call."""
    calls = [{"tool": "read", "arguments": {"path": f"{n}.py"}} for n in range(3)]
    with Loopback([{"calls": calls}, {"text": "done"}]) as server:
        asked = model(kind, server)
        reply = ask(asked, [user("go")], tools=[READ])
        assert [action.arguments["path"] for action in reply.actions] == ["0.py", "1.py", "2.py"]
        texts = [f"text of {each.id}" for each in reply.actions]
        ask(asked, [user("go"), *answered(reply, *texts)], tools=[READ])
        first, second = (each.body for each in server.requests)
    assert first.get("parallel_tool_calls", True)
    assert not (first.get("tool_choice") or {}).get("disable_parallel_tool_use")
    sent = json.dumps(second)
    assert [sent.count(text) for text in texts] == [1, 1, 1]
