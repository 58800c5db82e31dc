"""A map of the code within a budget: the files that matter most, each with the heads of what others use of it.

The idea of ranking a repository's files by PageRank over references, seeded by what is talked of, is aider's
("Building a better repository map with tree sitter", 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.code.index.code_index import Index
from tools.code.index.parsing.file_facts import Symbol
from tools.code.index.reference_graph import get_graph
from tools.code.index.symbol_queries import is_test
from tools.core.text import clip

CHARACTERS = 4
"""Of code in a token, about."""

TEST = 0.1
"""Of its rank that a file of tests keeps: tests use everything."""

HEAD = 100
"""Characters of a signature that are shown."""

MOST_FILES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEntry:
    """A file of the map. rank: of all files' ranks, which sum to 1"""

    path: str
    rank: float
    symbols: tuple[Symbol, ...]

    @property
    def text(self) -> str:
        """Its path, and a line a symbol."""
        lines = [
            f" {each.line}: {'  ' * each.name.count('.')}{clip(each.signature, HEAD)}"
            for each in self.symbols
        ]
        return "\n".join([f"{self.path}:" if lines else self.path, *lines])

    @property
    def data(self) -> dict[str, Any]:
        """The same for a program."""
        symbols = [
            {"name": each.name, "line": each.line, "signature": each.signature} for each in self.symbols
        ]
        return {"path": self.path, "rank": round(self.rank, 6), "symbols": symbols}


def build_map(index: Index, seeds: Mapping[str, float], tokens: int) -> list[MapEntry]:
    """The files that matter most, as many as fit, in the order of their paths.

    seeds: paths that are talked of, with weights; none for a map of the whole
    """
    made = get_graph(index)
    ranks = {path: rank * (TEST if is_test(path) else 1.0) for path, rank in made.pagerank(seeds).items()}
    best = sorted(ranks, key=lambda path: (-ranks[path], path))[:MOST_FILES]
    known = dict(zip(made.paths, made.known, strict=True))
    room = tokens * CHARACTERS
    chosen: list[MapEntry] = []
    for start in range(0, len(best), 40):  # outlines of those only that are likely to fit
        chunk = best[start : start + 40]
        outlines = index.outlines(chunk)
        for path in chunk:
            each = MapEntry(
                path=path,
                rank=ranks[path],
                symbols=_select_symbols(outlines[path].symbols, dict(known[path])),
            )
            size = len(each.text) + 1
            if size > room:
                return sorted(chosen, key=lambda one: one.path)
            room -= size
            chosen.append(each)
    return sorted(chosen, key=lambda one: one.path)


def _select_symbols(symbols: Sequence[Symbol], known: Mapping[str, float]) -> tuple[Symbol, ...]:
    """What others use, and the classes around it, in the order of the lines."""
    wanted = {each.name for each in symbols if each.short in known and each.kind != "variable"}
    for name in list(wanted):
        while "." in name:
            name = name.rpartition(".")[0]
            wanted.add(name)
    seen: set[str] = set()
    found = []
    for each in symbols:
        if each.name in wanted and each.name not in seen and each.kind != "variable":
            seen.add(each.name)  # overloads and branches define a name again
            found.append(each)
    return tuple(found)
