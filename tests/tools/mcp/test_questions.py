"""Questions of servers: forms field by field, addresses shown; what is no answer declines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tools.mcp.questions import ask_form, ask_to_open
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
        return self.answers.get(question.rpartition("\n")[2].partition(":")[0].replace(" ", "_"), "")


def ask(person: Person, *fields: str, required: Sequence[str] = ()) -> dict[str, Any] | None:
    schema = {
        "type": "object",
        "properties": {each: FIELDS[each] for each in fields},
        "required": list(required),
    }
    return asyncio.run(ask_form(person.answer, "shop", "Who are you?", schema))


def test_a_form_is_asked_field_by_field_with_its_types() -> None:
    person = Person(
        Your_name="Ada", age="36", share="0.5", sure="yes", size="m", colour="g", tags="a, c", note=""
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
        "The MCP server shop asks: Who are you?\nYour name: as in the passport",
        (),
    )
    assert [options for _, options in person.asked] == [
        *((), (), (), ("yes", "no"), ("s", "m"), ("r", "g"), ("a", "b", "c"), ())
    ]


@pytest.mark.parametrize(
    ("field", "answer"),
    [("age", "old"), ("share", "half"), ("sure", "maybe"), ("size", "xl"), ("tags", "a, d")],
)
def test_an_answer_that_is_none_declines(field: str, answer: str) -> None:
    assert ask(Person(**{field: answer}), field) is None


def test_what_is_not_answered_is_left_out_unless_it_is_needed() -> None:
    assert ask(Person(age="3"), "age", "size") == {"age": 3}
    assert ask(Person(age="3"), "age", "size", required=["size"]) is None


def test_a_form_that_is_none_or_too_long_declines() -> None:
    person = Person()
    for schema in ({"properties": {"a": 5}}, {"properties": {f"f{n}": {} for n in range(9)}}):
        assert asyncio.run(ask_form(person.answer, "shop", "Hm?", schema)) is None
    assert person.asked == []
    assert asyncio.run(ask_form(person.answer, "shop", "Sure?", {"properties": []})) is None


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
