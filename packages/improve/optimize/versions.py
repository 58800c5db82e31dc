"""Versions of a text that are not made by rewrites: what kind of change they are, and two of them put together."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher

_LOOPS = (ast.For, ast.While, ast.comprehension)


def describe_version(before: str, after: str) -> str:
    """Return what a version uses that the original does not, as its cell in the archive. Raises SyntaxError."""
    old, new = ast.parse(before), ast.parse(after)
    modules = sorted(_list_modules(new) - _list_modules(old))
    loops = _count_loops(new) - _count_loops(old)
    words = [*modules, *(["fewer loops"] if loops < 0 else ["more loops"] if loops > 0 else [])]
    return ", ".join(words) or "same parts"


def normalize_code(text: str) -> str:
    """Return a text without its layout and comments, which change nothing at run time; itself if it does not parse."""
    tree = parse_code(text)
    return ast.dump(tree) if tree is not None else text


def parse_code(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, None if it does not parse."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _list_modules(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
    return found


def _count_loops(tree: ast.AST) -> int:
    return sum(isinstance(node, _LOOPS) for node in ast.walk(tree))


def cross_versions(original: str, one: str, other: str) -> str | None:
    """Return the original with the changes of both versions; None where they touch the same lines or do not parse."""
    lines = original.splitlines(keepends=True)
    edits = sorted({*_list_edits(lines, one), *_list_edits(lines, other)})
    made, place, last = list[str](), 0, (-1, -1)
    for start, end, new in edits:
        is_header = all(not line.strip() or line.startswith(("import ", "from ")) for line in new)
        if start < place or (start == end and last == (start, end) and not is_header):
            return None
        made += [*lines[place:start], *new]
        place, last = end, (start, end)
    text = "".join([*made, *lines[place:]])
    return text if text not in (one, other, original) and parse_code(text) is not None else None


def _list_edits(lines: Sequence[str], text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return the changes from lines to a text: first and last line that are replaced, and by which."""
    new = text.splitlines(keepends=True)
    matcher = SequenceMatcher(None, lines, new, autojunk=False)
    return [(a, b, tuple(new[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
