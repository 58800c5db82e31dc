"""Questions of servers: forms field by field, addresses shown; what is no answer declines."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tools.mcp.forms import check_content, read_schema
from tools.mcp.questions import MOST_TRIES, Asker, ask_form, ask_to_open
from tools.mcp.time_limit import TimeLimit

FIELDS = {
    "name": {"type": "string", "title": "Your name", "description": "as in the passport"},
    "age": {"type": "integer"},
    "share": {"type": "number"},
    "sure": {"type": "boolean"},
    "size": {"type": "string", "enum": ["s", "m"]},
    "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}},
    "note": {"type": "string", "default": "none"},
}


class Person:
    """Answers by the last line of a question; "" to others."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def answer(self, question: str, options: Sequence[str]) -> str:
        self.asked.append((question, tuple(options)))
        line = question.splitlines()[1] if "\n" in question else question
        name = re.sub(r"^\d+ of \d+ ", "", line).partition(":")[0].partition(" (")[0]
        given = self.answers.get(name.replace(" ", "_"), "")
        first, _, rest = given.partition("|")
        if rest:
            self.answers[name.replace(" ", "_")] = rest
        return first


def ask(person: Person, *fields: str, required: Sequence[str] = ()) -> dict[str, Any] | None:
    schema = {
        "type": "object",
        "properties": {each: FIELDS[each] for each in fields},
        "required": list(required),
    }
    return asyncio.run(ask_form(Asker(ask=person.answer), "shop", "Who are you?", schema))


def test_a_form_is_asked_field_by_field_with_its_types() -> None:
    person = Person(
        Your_name="Ada", age="36", share="0.5", sure="yes", size="m", colour="Green", tags="a, c", note=""
    )
    assert ask(person, *FIELDS) == {
        "name": "Ada",
        "age": 36,
        "share": 0.5,
        "sure": True,
        "size": "m",
        "colour": "g",
        "tags": ["a", "c"],
        "note": "none",
    }
    assert person.asked[0] == (
        "The MCP server shop asks: Who are you?\n1 of 8 Your name: as in the passport",
        (),
    )
    assert [options for _, options in person.asked] == [
        *((), (), (), ("yes", "no"), ("s", "m"), ("Red", "Green"), ("a", "b", "c"), ())
    ]


@pytest.mark.parametrize(
    ("field", "answer", "value"),
    [
        ("age", "old", 36),
        ("share", "half", 0.5),
        ("sure", "maybe", True),
        ("size", "xl", "m"),
        ("tags", "a, d", ["a", "c"]),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_again(field: str, answer: str, value: object) -> None:
    right = {"age": "36", "share": "0.5", "sure": "yes", "size": "2", "tags": "1, 3"}[field]
    person = Person(**{field: f"{answer}|{right}"})
    assert ask(person, field) == {field: value}
    assert f"{answer}: it is" in person.asked[1][0]
    person = Person(**{field: answer})
    assert ask(person, field) is None
    assert len(person.asked) == MOST_TRIES


CONFORMANCE: Mapping[str, Mapping[str, Any]] = {
    "name": {"type": "string", "default": "John Doe", "title": "Name"},
    "age": {"type": "integer", "default": 30, "minimum": 1},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
    "plain": {"type": "string", "enum": ["option1", "option2"]},
    "titled": {
        "type": "string",
        "oneOf": [{"const": "v1", "title": "First"}, {"const": "v2", "title": "Two"}],
    },
    "legacy": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
    "named": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X-ray"}]}, "default": ["x"]},
}
"""Fields of the conformance suite for SEP-1034 and SEP-1330."""


def fill(*contents: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, list[tuple[str, Any]]]:
    """Return the content of the form that is filled so, one content after the other, and what was shown."""
    left, shown = list(contents), []

    async def reply(message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        shown.append((message, schema))
        return left.pop(0)

    schema = {"type": "object", "properties": CONFORMANCE, "required": ["several"]}
    asker = Asker(ask=Person().answer, fill=reply)
    return asyncio.run(ask_form(asker, "shop", "Who?", schema)), shown


def test_a_form_is_shown_as_a_whole_with_types_titles_and_defaults() -> None:
    content, [(message, schema)] = fill({"several": ["b"], "titled": "v2"})
    assert message == "The MCP server shop asks: Who?"
    assert content == {
        "name": "John Doe",
        "age": 30,
        "score": 95.5,
        "status": "active",
        "verified": True,
        "titled": "v2",
        "several": ["b"],
        "named": ["x"],
    }
    fields = schema["properties"]
    assert fields["name"] == CONFORMANCE["name"]
    assert fields["age"] == CONFORMANCE["age"]
    assert fields["plain"]["enum"] == ["option1", "option2"]
    assert fields["legacy"]["oneOf"][0] == {"const": "opt1", "title": "Option One"}
    assert fields["named"]["items"] == {"anyOf": [{"const": "x", "title": "X-ray"}]}
    assert schema["required"] == ["several"]


def test_a_form_with_values_that_do_not_fit_is_shown_again_with_the_reasons() -> None:
    bad = {"age": 0, "status": "gone", "verified": "yes", "several": [], "score": float("nan")}
    content, shown = fill(bad, {"several": ["a"]})
    assert content is not None
    assert content["several"] == ["a"]
    for told in (
        "age: it is not from 1 to …",
        "status: it is none of",
        "verified: it is neither",
        "several: choose",
    ):
        assert told in shown[1][0], told
    assert fill(*[{}] * MOST_TRIES)[0] is None
    assert fill(None)[0] is None


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ({"type": "string", "format": "date"}, "2026-11-30", "30.11.2026"),
        ({"type": "string", "format": "date-time"}, "2026-11-30T01:00:00Z", "now"),
        ({"type": "string", "format": "email"}, "a@b.example", "a"),
        ({"type": "string", "format": "uri"}, "https://b.example", "b"),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abcd"),
        ({"type": "integer"}, 3, 3.5),
        ({"type": "number", "maximum": 1}, 0.5, 2),
    ],
)
def test_limits_of_fields(field: dict[str, Any], good: object, bad: object) -> None:
    schema = read_schema({"properties": {"x": field}})
    assert schema is not None
    assert check_content(schema, {"x": good}) == ({"x": good}, [])
    assert check_content(schema, {"x": bad})[1]


@pytest.mark.parametrize(
    "field",
    [{"type": "object"}, {"type": "array", "items": {"type": "string"}}, {"type": ["string"]}, {"type": 7}],
)
def test_fields_that_cannot_be_shown_decline(field: dict[str, Any]) -> None:
    assert read_schema({"properties": {"x": field}}) is None


def test_what_is_not_answered_is_left_out_unless_it_is_needed() -> None:
    assert ask(Person(age="3"), "age", "size") == {"age": 3}
    assert ask(Person(age="3"), "age", "size", required=["size"]) is None


def test_a_form_that_is_none_or_too_long_declines() -> None:
    person = Person()
    for schema in ({"properties": {"a": 5}}, {"properties": {f"f{n}": {} for n in range(9)}}):
        assert asyncio.run(ask_form(Asker(ask=person.answer), "shop", "Hm?", schema)) is None
    assert person.asked == []
    assert asyncio.run(ask_form(Asker(ask=person.answer), "shop", "Sure?", {"properties": []})) is None


@pytest.mark.parametrize(
    ("url", "answer", "is_opened"),
    [
        ("https://pay.example/1", "I have opened it", True),
        ("https://pay.example/1", "no", False),
        ("https://pay.example/1", "", False),
        ("file:///etc/passwd", "I have opened it", False),
        ("http://pay.example/1", "I have opened it", False),
        ("https://pay.example/\x1b[31m", "I have opened it", False),
    ],
)
def test_an_address_is_shown_and_accepted_by_the_person_alone(url: str, answer: str, is_opened: bool) -> None:
    asked: list[str] = []

    async def reply(question: str, options: Sequence[str]) -> str:
        asked.append(question)
        return answer

    assert asyncio.run(ask_to_open(reply, "shop", "Pay here", url)) is is_opened
    assert all(each.endswith(f"\n{url}") for each in asked)
    assert bool(asked) is url.startswith("https://pay.example/1")


def test_the_clock_stands_while_a_person_thinks() -> None:
    async def think() -> None:
        async with TimeLimit(0.1) as limit:
            limit.pause()
            limit.pause()
            await asyncio.sleep(0.2)
            limit.resume()
            await asyncio.sleep(0.1)
            limit.resume()
            await asyncio.sleep(5)

    start = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(think())
    assert 0.35 < time.monotonic() - start < 4
