"""A map of the code within a token budget: the most important files, each with signatures that other files use.

Ranking a repository's files by PageRank over references, seeded by the topic, is aider's idea ("Building a better
repository map with tree sitter", 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.code.index.code_index import Index
from tools.code.index.parsing.file_facts import Symbol
from tools.code.index.reference_graph import get_graph
from tools.code.index.symbol_queries import is_test
from tools.core.text import clip

CHARACTERS = 4
"""Characters of code per token, approximately."""

TEST = 0.1
"""Factor on the rank of a test file: tests use everything."""

HEAD = 100
"""Characters of a signature that are shown."""

MOST_FILES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEntry:
    """A file of the map. rank: share of the ranks of all files, which sum to 1"""

    path: str
    rank: float
    symbols: tuple[Symbol, ...]

    @property
    def text(self) -> str:
        """Its path, and a line per symbol."""
        lines = [
            f" {each.line}: {'  ' * each.name.count('.')}{clip(each.signature, HEAD)}"
            for each in self.symbols
        ]
        return "\n".join([f"{self.path}:" if lines else self.path, *lines])

    @property
    def data(self) -> dict[str, Any]:
        """The entry as JSON data."""
        symbols = [
            {"name": each.name, "line": each.line, "signature": each.signature} for each in self.symbols
        ]
        return {"path": self.path, "rank": round(self.rank, 6), "symbols": symbols}


def build_map(index: Index, seeds: Mapping[str, float], tokens: int) -> list[MapEntry]:
    """Return the most important files that fit the budget, sorted by path.

    seeds: paths of the topic, with weights; empty for a map of the whole workspace
    """
    made = get_graph(index)
    ranks = {path: rank * (TEST if is_test(path) else 1.0) for path, rank in made.pagerank(seeds).items()}
    best = sorted(ranks, key=lambda path: (-ranks[path], path))[:MOST_FILES]
    known = dict(zip(made.paths, made.known, strict=True))
    room = tokens * CHARACTERS
    chosen: list[MapEntry] = []
    for start in range(0, len(best), 40):  # load only outlines that are likely to fit
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
    """Return symbols that other files use, and their enclosing classes, in line order."""
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
