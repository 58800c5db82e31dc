"""A search over tools: their names, their servers, their descriptions and the names of their arguments."""

from __future__ import annotations

from collections.abc import Iterable

from tools.core.registry import Tool
from tools.discovery.word_ranking import Fields, WordRanking

NAME, SERVER, DESCRIPTION, ARGUMENT = 4.0, 4.0, 1.5, 0.5
"""Weights of a word by the field in which it is."""


class ToolIndex:
    """An index of tools by their words."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = list(tools)
        self._ranking = WordRanking(_list_fields(each) for each in self._tools)

    def find_tools(self, query: str, limit: int) -> list[Tool]:
        """Return the tools that fit a query best, the best one first; exact names come before all."""
        named = [number for number, tool in enumerate(self._tools) if tool.name in query.split()]
        return [self._tools[number] for number in dict.fromkeys([*named, *self._ranking.rank(query)])][:limit]


def _list_fields(tool: Tool) -> Fields:
    server, _, name = tool.name.removeprefix("mcp__").rpartition("__")
    properties = tool.parameters.get("properties")
    arguments = " ".join(properties) if isinstance(properties, dict) else ""
    return ((name, NAME), (server, SERVER), (tool.description, DESCRIPTION), (arguments, ARGUMENT))
