"""Names that a repository defines, for completion; read from the code index in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from cli.tui.input.fuzzy_match import FuzzyIndex
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

FRESH = 30.0
"""Seconds for which the names are reused before the index is queried again."""

SHORTEST = 2
"""Minimum length of a query: fewer letters match too much."""

MOST = 100_000
"""Limit on the names kept: with more of them, matching would lag behind the typing."""


@dataclass(frozen=True, slots=True)
class SymbolName:
    """One definition. `name`: qualified ("Cart.total")"""

    name: str
    kind: str
    path: str
    line: int


class SymbolNames:
    """The repository's symbol names, loaded in a background thread, one at a time; empty until loaded.

    hidden: options for ripgrep that exclude files; arrived: called in that thread when the first names are loaded
    """

    def __init__(
        self, root: Path, cache: Path, hidden: Sequence[str] = (), *, arrived: Callable[[], None]
    ) -> None:
        self._root, self._cache, self._hidden, self._arrived = root, cache, hidden, arrived
        self._known: list[SymbolName] = []
        self._index = FuzzyIndex()
        self._when = float("-inf")
        self._looking: threading.Thread | None = None

    def find_matching(self, query: str, limit: int) -> list[SymbolName]:
        """Return names that contain the query's letters in order, the closest first."""
        if len(query) < SHORTEST:
            return []
        if self._looking is None and time.monotonic() - self._when > FRESH:
            self._looking = threading.Thread(target=self._load_names, daemon=True)
            self._looking.start()
        known, index = self._known, self._index
        return [known[each] for each in index.rank(query.replace(".", "/"), limit)]

    def _load_names(self) -> None:
        try:
            with suppress(UserError, OSError):  # no ripgrep, a full disk: no completions
                found = _read_definitions(self._root, self._cache, self._hidden)
                first = not self._known
                index = FuzzyIndex([each.name.replace(".", "/") for each in found])
                self._known, self._index = found, index
                if first and found:
                    self._arrived()
        finally:
            self._when, self._looking = time.monotonic(), None


def _read_definitions(root: Path, cache: Path, hidden: Sequence[str]) -> list[SymbolName]:
    from tools.code.index.code_index import Index, ask_index

    def collect_names(index: Index) -> list[SymbolName]:
        return [
            SymbolName(symbol.name, symbol.kind, path, symbol.line)
            for path, outline in index.outlines(index.paths).items()
            for symbol in outline.symbols
        ][:MOST]

    return ask_index(root, cache, hidden, collect_names)
