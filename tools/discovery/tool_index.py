"""A search over tools: BM25F over their names, their servers, their descriptions and the names of their arguments.

Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple weighted fields", CIKM 2004. The field weights and the
weight of words that are alike were chosen on the development half of tests/tools/discovery/queries.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tools.core.registry import Tool
from tools.discovery.tool_words import ALIKE, split_words

NAME, SERVER, DESCRIPTION, ARGUMENT = 4.0, 4.0, 3.0, 0.5
"""Weights of a word by the field in which it is."""

ALIKE_WEIGHT = 0.4
"""Weight of a word that is only alike to one of the query."""

K1, B = 1.4, 0.5
"""Saturation of repeated words, and length normalization."""

LONGEST = 400
"""Words of a description that count."""


class ToolIndex:
    """An index of tools by their words."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = list(tools)
        self._words: list[dict[str, float]] = [_weigh_words(each) for each in self._tools]
        self._lengths = [sum(each.values()) for each in self._words]
        self._average = sum(self._lengths) / max(len(self._lengths), 1) or 1.0
        self._places: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                self._places.setdefault(word, []).append(number)

    def find_tools(self, query: str, limit: int) -> list[Tool]:
        """Return the tools that fit a query best, the best one first; exact names come before all."""
        scores: dict[int, float] = {}
        for word, weight in self._expand(query).items():
            places = self._places.get(word, ())
            rarity = math.log(1 + (len(self._tools) - len(places) + 0.5) / (len(places) + 0.5))
            for number in places:
                often = self._words[number][word]
                norm = K1 * (1 - B + B * self._lengths[number] / self._average)
                score = weight * rarity * often * (K1 + 1) / (often + norm)
                scores[number] = scores.get(number, 0.0) + score
        named = [number for number, tool in enumerate(self._tools) if tool.name in query.split()]
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._tools[number] for number in dict.fromkeys([*named, *ranked])][:limit]

    def _expand(self, query: str) -> dict[str, float]:
        """Return the words of a query, and those alike, with their weights."""
        asked = dict.fromkeys(split_words(query), 1.0)
        more: dict[str, float] = {}
        for word in asked:
            for other in ALIKE.get(word, ()):
                if other not in asked:
                    more[other] = ALIKE_WEIGHT
        return {**asked, **more}


def _weigh_words(tool: Tool) -> dict[str, float]:
    server, _, name = tool.name.removeprefix("mcp__").rpartition("__")
    found: dict[str, float] = {}
    properties = tool.parameters.get("properties")
    arguments = " ".join(properties) if isinstance(properties, dict) else ""
    for text, weight in (
        (name, NAME),
        (server, SERVER),
        (tool.description, DESCRIPTION),
        (arguments, ARGUMENT),
    ):
        for word in dict.fromkeys([*split_words(text)][:LONGEST]):
            found[word] = found.get(word, 0.0) + weight
    return found
