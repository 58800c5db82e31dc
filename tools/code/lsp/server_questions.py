"""Requests of the tool `code` that a language server answers better than a search by name, combined with the index.

The index locates a name; the server resolves which symbol it is. Without a server, or when it fails, the index's
own answer is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.lsp.positions import Place, find_column

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.index.symbol_queries import Use

Answered = TypeVar("Answered")


class AskIndex(Protocol):
    """A callable that queries the workspace's index after bringing it up to date."""

    def __call__(self, question: Callable[[Index], Answered], /) -> Answered: ...


ACTIONS = ("find", "references", "callers")
"""Actions that use a server; `find` only with a given place, since the index finds a name by itself."""

_AT = compile_lazily(r"(?P<path>[^\s:]+):(?P<line>\d+):?\s+(?P<name>[\w.$:]+)")
_HEAD = 5
"""Lines of a definition that are searched for its name: decorators and return types precede it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlace:
    """A name and its place. given: the place was in the request, not found by the index"""

    name: str
    place: Place
    given: bool


def resolve_target(index: Index, target: str) -> NamedPlace | None:
    """Resolve a target to a place: "cart.py:12 total", or a name that has only one definition."""
    from tools.code.index.symbol_queries import find_definitions, split_name

    if told := _AT.fullmatch(target.strip()):
        path, line = told["path"].removeprefix("./"), int(told["line"])
        short = split_name(told["name"])[-1:]
        lines = index.read_source(path).split("\n")
        if not short or not 0 < line <= len(lines):
            return None
        column = find_column(lines[line - 1], short[0])
        place = None if column is None else Place(path=path, line=line, column=column)
        return NamedPlace(name=short[0], place=place, given=True) if place else None
    found = find_definitions(index, target)
    if len(found) != 1:
        return None
    symbol = found[0].symbol
    lines = index.read_source(found[0].path).split("\n")
    for line in range(symbol.line, min(symbol.line + _HEAD, len(lines), symbol.last) + 1):
        if line <= len(lines) and (column := find_column(lines[line - 1], symbol.short)) is not None:
            place = Place(path=found[0].path, line=line, column=column)
            return NamedPlace(name=symbol.short, place=place, given=False)
    return None


def build_uses(index: Index, name: str, places: Sequence[Place], *, calls: bool) -> list[Use]:
    """Convert a server's places into uses of the index. calls: only those that the index knows as calls"""
    from tools.code.index.symbol_queries import Use, find_enclosing_symbol, is_test

    found: list[Use] = []
    by_path: dict[str, set[int]] = {}
    for each in places:
        by_path.setdefault(each.path, set()).add(each.line)
    for path in sorted(by_path, key=lambda each: (is_test(each), each)):
        called = {mark >> 1 for mark in index.find_uses(path, name).get(name, ()) if mark & 1}
        symbols, lines = index.outline(path).symbols, index.read_source(path).split("\n")
        found += [
            Use(
                path=path,
                line=line,
                within=find_enclosing_symbol(symbols, line),
                called=line in called,
                code=lines[line - 1].strip() if line <= len(lines) else "",
            )
            for line in sorted(by_path[path])
            if not calls or line in called
        ]
    return found
