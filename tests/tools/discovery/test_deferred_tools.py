"""Tools that are looked up: what a request carries, how a found one is called, and that it is judged as itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.discovery.catalogue import load_tools
from tests.tools.workspaces import workspace
from tools.core.action import Action, ToolFailure
from tools.core.call_aliases import unwrap_call
from tools.core.registry import Tool, Toolbox
from tools.discovery.deferred_tools import DeferredTools, is_worth_deferring


@pytest.fixture
def toolbox() -> Toolbox:
    """The two tools that are sent, before 420 that are not."""
    deferred = DeferredTools(load_tools())
    return Toolbox(deferred.make_search(), deferred.tools.values())


def find(toolbox: Toolbox, name: str) -> Tool:
    tool = toolbox.get(name)
    assert tool is not None
    return tool


def encode(tools: object) -> str:
    return json.dumps(
        [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    )  # type: ignore[attr-defined]


def test_what_is_sent_does_not_grow_with_the_tools(toolbox: Toolbox) -> None:
    assert [each.name for each in toolbox] == ["find_tool", "call_tool"]
    assert len(encode(toolbox)) <= 1_500
    assert len(encode(load_tools())) > 60_000


def test_a_search_gives_the_definitions_of_five(toolbox: Toolbox, tmp_path: Path) -> None:
    at = workspace(tmp_path, {})
    tool = find(toolbox, "find_tool")
    found = asyncio.run(tool.run(**tool.validate({"query": "retry a pipeline of the project"}), at=at))
    lines = [json.loads(line) for line in found.text.splitlines() if line.startswith("{")]
    assert len(lines) == 5
    assert lines[0]["name"] == "mcp__gitlab__retry_pipeline"
    assert lines[0]["parameters"]["properties"].keys() == {"project", "pipeline"}
    assert asyncio.run(tool.run(query="xyzzy", at=at)).failed


def test_a_call_is_taken_for_the_tool_that_it_names(toolbox: Toolbox) -> None:
    def unwrap(arguments: Any, tool: str = "call_tool") -> Action:
        return unwrap_call(Action(id="c", tool=tool, arguments=arguments), toolbox)

    name = "mcp__gitlab__retry_pipeline"
    for given in ({"pipeline": "7"}, '{"pipeline": "7"}'):
        call = unwrap({"name": name, "arguments": given})
        assert (call.tool, call.arguments, json.loads(call.raw)) == (
            name,
            {"pipeline": "7"},
            {"pipeline": "7"},
        )
    for arguments in (
        {},
        {"name": "nowhere", "arguments": {}},
        {"name": name, "arguments": "{"},
        {"name": name, "arguments": 3},
    ):
        assert unwrap(arguments).tool == "call_tool"
    assert unwrap({"name": "call_tool", "arguments": {"name": name}}).tool == "call_tool"
    assert unwrap({"name": name}, tool="find_tool").tool == "find_tool"


def test_a_call_that_names_nothing_is_told_so(toolbox: Toolbox, tmp_path: Path) -> None:
    tool = find(toolbox, "call_tool")
    with pytest.raises(ToolFailure, match="takes a name and an object"):
        tool.validate({"name": "x", "arguments": "{"})
    with pytest.raises(ToolFailure, match="there is no tool 'x'"):
        asyncio.run(tool.run(**tool.validate({"name": "x", "arguments": {}}), at=workspace(tmp_path, {})))


def test_few_tools_are_not_worth_it() -> None:
    tools = load_tools()
    assert is_worth_deferring(tools, 128_000)
    assert not is_worth_deferring(tools[:20], 128_000)
    assert not is_worth_deferring(tools, 1_000_000)
