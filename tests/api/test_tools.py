"""Functions as tools: their schemas, the values that they get, and what becomes of their results."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator

import patchwright
from patchwright.api.tools import build_schema, convert_value, make_tool


@dataclass
class Part:
    name: str
    count: int = 1


@dataclass
class Order:
    parts: list[Part]
    state: Literal["open", "done"] = "open"
    notes: dict[str, str] = field(default_factory=dict)
    first: Part | None = None


ORDER = {
    "parts": [{"name": "nut", "count": 2}],
    "state": "done",
    "notes": {"a": "b"},
    "first": {"name": "nut"},
}


def test_a_schema_accepts_what_its_type_holds_and_refuses_the_rest() -> None:
    schema = build_schema(Order)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid(ORDER)
    assert validator.is_valid({"parts": []})
    wrong: list[Any] = [
        {},
        {"parts": [{}]},
        {**ORDER, "state": "lost"},
        {**ORDER, "more": 1},
        {**ORDER, "notes": {"a": 1}},
    ]
    for each in wrong:
        assert not validator.is_valid(each)


def test_a_value_becomes_what_its_type_says() -> None:
    made = convert_value(ORDER, Order)
    assert made == Order([Part("nut", 2)], "done", {"a": "b"}, Part("nut"))
    assert convert_value(None, Part | None) is None
    assert convert_value([1], Any) == [1]


def test_a_tool_has_the_name_the_text_and_the_arguments_of_its_function() -> None:
    @patchwright.tool(reads_only=True)
    def count_parts(order: Order, factor: float = 1.5, *, loud: bool = False) -> str:
        """Count the parts.

        All of them.
        """
        return f"{len(order.parts) * factor} {loud}"

    made = make_tool(count_parts)
    described = made.describe()
    assert described["name"] == "count_parts"
    assert described["description"] == "Count the parts.\n\nAll of them."
    assert described["reads_only"]
    assert described["parameters"]["required"] == ["order"]
    assert described["parameters"]["properties"]["factor"] == {"type": "number", "default": 1.5}
    json.dumps(described)
    assert asyncio.run(made.call({"order": ORDER, "loud": True})) == ("1.5 True", False)


def test_results_are_text_and_errors_are_told() -> None:
    async def look_up(key: str) -> dict[str, str]:
        await asyncio.sleep(0)
        return {"of": key}

    def fail(key: str) -> str:
        raise KeyError(key)

    assert asyncio.run(make_tool(look_up).call({"key": "ä"})) == ('{"of": "ä"}', False)
    assert asyncio.run(make_tool(fail).call({"key": "x"})) == ("KeyError: 'x'", True)


def untyped(word):  # type: ignore[no-untyped-def]
    """An argument without a type."""


def odd(word: set[str]) -> None:
    """A type that JSON lacks."""


def many(*words: str) -> None:
    """Arguments without names."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (untyped, "'word' has no type"),
        (odd, "no JSON schema for set"),
        (many, "'words' cannot be given by name"),
    ],
)
def test_functions_that_cannot_be_tools_are_refused(function: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make_tool(function)
