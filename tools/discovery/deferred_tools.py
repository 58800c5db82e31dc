"""Tools that are not sent with every request: `find_tool` looks them up, `call_tool` calls them.

The two definitions never change, so that the part of a request which providers cache stays as it is.
Many tools that are sent cost a window more than they help: Tulip Agent (arXiv 2407.21778) searches for them likewise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.call_aliases import CALL, FIND
from tools.core.registry import Tool
from tools.core.untrusted_output import enclose_in_tag
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.discovery.tool_index import ToolIndex

FOUND = 5
"""Tools that one search returns."""

SHARE = 0.05
"""Part of a model's window above which the definitions of servers' tools are not sent."""

LEAST = 4_000
"""Tokens of definitions that are sent in any window: looking a few tools up costs more than it saves."""

CHARACTERS_PER_TOKEN = 4

_NAMED = 12
"""Servers that the description of `find_tool` names."""


class DeferredTools:
    """Tools that are found by a search. They are added to one `Toolbox` as accepted, not as offered."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = {each.name: each for each in tools}

    @cached_property
    def _index(self) -> ToolIndex:
        from tools.discovery.tool_index import ToolIndex  # its tables are read at the first search

        return ToolIndex(self.tools.values())

    def find_tools(self, query: str) -> list[Tool]:
        """Return the tools that fit a query best."""
        return self._index.find_tools(query, FOUND)

    def make_search(self) -> list[Tool]:
        """Return `find_tool` and `call_tool`."""
        return [self._make_find_tool(), _make_call_tool()]

    def _make_find_tool(self) -> Tool:
        async def run(query: str, *, at: Workspace) -> Observation:
            found = self.find_tools(query)
            if not found:
                return Observation(text=f"no tool has to do with {query!r}; use other words", failed=True)
            text = "\n".join(_describe_tool(each) for each in found)
            about = f"{len(found)} of {len(self.tools)} tools, the likeliest first; {CALL}(name, arguments) calls one."
            return Observation(text=f"{about}\n{enclose_in_tag('tools', text, '')}")

        return Tool(
            name=FIND,
            description=f"Look up tools of servers, with their arguments. There are {_summarise(self.tools)}. "
            f"Say in a few words what shall be done, as a tool's name says it; then call a tool by {CALL}.",
            parameters={
                "type": "object",
                "properties": {"query": {"type": "string", "description": "such as: create an issue"}},
                "required": ["query"],
            },
            run=run,
            effect_of=lambda arguments, at: Effect(kind="none"),
            reads_only=True,
        )


def is_worth_deferring(tools: Iterable[Tool], window: int) -> bool:
    """Whether the definitions of these tools would take too much of a window of so many tokens."""
    size = sum(len(_describe_tool(each)) for each in tools) / CHARACTERS_PER_TOKEN
    return size > max(LEAST, SHARE * window)


def _make_call_tool() -> Tool:
    async def run(name: str, arguments: dict[str, Any], *, at: Workspace) -> Observation:
        raise ToolFailure(f"there is no tool {name!r}: find one by {FIND}(query)")

    return _CallTool(
        name=CALL,
        description=f"Call a tool that {FIND} has found.",
        parameters={
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "arguments": {"type": "object", "description": "as the found tool describes them"},
            },
            "required": ["name", "arguments"],
        },
        run=run,
        effect_of=lambda arguments, at: Effect(kind="none"),
        reads_only=False,
    )


class _CallTool(Tool):
    """Reached only by calls that `unwrap_call` could not read."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See `Tool.validate`."""
        if not isinstance(arguments.get("name"), str) or not isinstance(arguments.get("arguments"), dict):
            raise ToolFailure(f"{CALL} takes a name and an object of arguments: {CALL}(name, arguments)")
        return {"name": arguments["name"], "arguments": arguments["arguments"]}


def _describe_tool(tool: Tool) -> str:
    return json.dumps(
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        ensure_ascii=False,
    )


def _summarise(tools: Iterable[str]) -> str:
    """Return how many tools each server has, the largest first, as a phrase of bounded length."""
    counts: dict[str, int] = {}
    for name in tools:
        server = name.removeprefix("mcp__").partition("__")[0]
        counts[server] = counts.get(server, 0) + 1
    ordered: Sequence[tuple[str, int]] = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    named = ", ".join(f"{server[:30]} ({count})" for server, count in ordered[:_NAMED])
    return f"{sum(counts.values())}: {named}{', and others' if len(ordered) > _NAMED else ''}"
