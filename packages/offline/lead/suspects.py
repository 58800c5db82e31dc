"""Functions of the project that a failing test points at, with their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

LONGEST = 80
"""Lines of a function that is shown whole; of a longer one, those around the suspect line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A function. symbol: its dotted name in the file; first, last: its lines; line, end: the suspect statement"""

    path: str
    symbol: str
    first: int
    last: int
    source: str
    line: int = 0
    end: int = 0


def find_suspects(at: Workspace, places: Sequence[Mapping[str, Any]]) -> list[Suspect]:
    """Return the functions around suspicious places (`localize`), the most suspicious first, each once."""
    found: dict[tuple[str, str], Suspect] = {}
    for place in places:
        path, line = str(place.get("path", "")), int(place.get("line") or 0)
        inside = [each for each in list_functions(at, path) if each.first <= line <= each.last]
        if not inside:
            continue
        inner = max(inside, key=lambda each: each.first)
        key = (path, inner.symbol)
        if key not in found:
            end = int(place.get("end_line") or line)
            found[key] = Suspect(
                path=path, symbol=inner.symbol, first=inner.first, last=inner.last, source=inner.source,
                line=line, end=end,
            )  # fmt: skip
    return list(found.values())


def find_named(at: Workspace, name: str, paths: Sequence[str]) -> Suspect | None:
    """Return the function of this name in some files, the first that has it; None if none does."""
    for path in dict.fromkeys(paths):
        for each in list_functions(at, path):
            if name in (each.symbol, each.symbol.rpartition(".")[2]):
                return each
    return None


def list_functions(at: Workspace, path: str) -> list[Suspect]:
    """Return the functions of a Python file; none of a file that does not parse."""
    if not path.endswith(".py"):
        return []
    try:
        text = at.files.read(path).decode("utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []
    return list(iter_functions(tree.body, text.replace("\r\n", "\n").split("\n"), path))


def iter_functions(
    body: Sequence[ast.stmt], lines: Sequence[str], path: str = "", above: str = ""
) -> Iterator[Suspect]:
    """Yield the functions and methods of some statements. lines: of the whole source; above: name of what is around"""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            last = node.end_lineno or first
            source = "\n".join(lines[first - 1 : last])
            yield Suspect(path=path, symbol=f"{above}{node.name}", first=first, last=last, source=source)
        elif isinstance(node, ast.ClassDef):
            yield from iter_functions(node.body, lines, path, f"{above}{node.name}.")
