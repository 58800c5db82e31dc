"""`@tool`: what a signature and docstring become, and what a model is told when its arguments do not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pytest

from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, Toolbox, tool
from tools.core.workspace import Workspace


@dataclass(kw_only=True)
class Item:
    text: str
    status: Literal["open", "done"] = "open"


@tool("read")
async def look(path: str, start: int = 1, end: int | None = None, *, at: Workspace) -> Observation:
    """Look at a file.

    Lines are numbered.

    path: file to look at,
      relative to the workspace
    start: first line
    """
    return Observation(text=f"{path} {start} {end}")


@tool("none")
async def arrange(items: list[Item], loud: bool = False, *, at: Workspace) -> Observation:
    """Arrange items."""
    return Observation(text="ok")


def test_a_signature_and_docstring_become_a_schema() -> None:
    assert look.name == "look"
    assert look.description == "Look at a file.\n\nLines are numbered."
    assert look.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "file to look at, relative to the workspace"},
            "start": {"type": "integer", "description": "first line"},
            "end": {"type": "integer"},
        },
        "required": ["path"],
    }
    assert look.signature == "look(path, start?, end?)"


def test_lists_of_dataclasses_are_described_field_by_field() -> None:
    assert arrange.parameters["properties"]["items"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "status": {"type": "string", "enum": ["open", "done"]},
            },
            "required": ["text"],
        },
    }


def test_arguments_are_coerced_where_the_meaning_is_plain() -> None:
    assert look.validate({"path": "a.py", "start": "12"}) == {"path": "a.py", "start": 12, "end": None}
    assert arrange.validate({"items": [{"text": "x", "status": "open"}], "loud": "true"})["loud"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "path: field required"),
        ({"path": "a", "line": 3}, "line: there is no such argument"),
        ({"path": "a", "start": "soon"}, "start: input should be a valid integer"),
        ({"path": None}, "path: input should be a valid string"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_what_would(
    arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(ToolFailure) as refused:
        look.validate(arguments)
    assert said in str(refused.value)
    assert "look(path, start?, end?)" in str(refused.value)


def test_added_tools_follow_the_present_ones_and_are_told_once() -> None:
    box = Toolbox([look])
    told: list[list[str]] = []
    box.subscribe(lambda: told.append([each.name for each in box]))
    box.add(accepted=[arrange])
    assert (box.get(arrange.name), told) == (arrange, []), "nothing more is offered"
    box.include(Toolbox([arrange, look]))
    box.add([arrange])
    assert told == [[look.name, arrange.name]]


def test_a_tool_that_is_there_is_not_replaced() -> None:
    other = replace(look, description="another one")
    box = Toolbox([look], accepted=[arrange])
    box.add([other], accepted=[replace(arrange, description="another one")])
    assert list(box) == [look]
    assert box.get(arrange.name) is arrange


def test_a_toolbox_knows_the_name_nearest_to_a_misspelt_one() -> None:
    box = Toolbox([look, arrange])
    assert box.find_nearest_name("Look_") == "look"
    assert box.find_nearest_name("zzzz") == ""
    assert [each.name for each in box] == ["look", "arrange"]
    assert isinstance(box.get("look"), Tool)
    assert box.get("nope") is None
