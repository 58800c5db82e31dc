"""One rewrite of a function as edits of its file's text, and its application."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from sandbox.lazy_dataclass import dataclass
from tools.core.text import split_lines


class TextEdit(NamedTuple):
    """Replacement of the characters start…end."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One rewrite.

    kind: name in the table; function: the qualified name of the function that it changes; line: of its first edit
    imports: modules that it needs at the top of the file; constants: assignments that it needs below the imports
    """

    kind: str
    function: str
    line: int
    edits: tuple[TextEdit, ...]
    imports: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()


def apply_rewrites(text: str, rewrites: Sequence[Rewrite]) -> str | None:
    """Return the text with all rewrites; None where two of them touch the same characters, or it does not parse."""
    edits = sorted({each for rewrite in rewrites for each in rewrite.edits})
    for first, second in itertools.pairwise(edits):
        if first.end > second.start or (first.start == second.start and first.start != first.end):
            return None
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    lines = [f"import {name}" for rewrite in rewrites for name in rewrite.imports]
    constants = [line for rewrite in rewrites for line in rewrite.constants]
    try:
        return _add_header(text, list(dict.fromkeys(lines)), list(dict.fromkeys(constants)))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _add_header(text: str, imports: Sequence[str], constants: Sequence[str]) -> str:
    """Add what is missing of imports and constants behind the docstring and the imports of the top."""
    tree = ast.parse(text)
    known = {
        f"import {each.name}"
        for node in tree.body
        if isinstance(node, ast.Import)
        for each in node.names
        if each.asname is None
    }
    missing = [line for line in imports if line not in known]
    last = 0
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        last = node.end_lineno or 0
    if not missing and not constants:
        return text
    lines = split_lines(text)
    if last and not lines[last - 1].endswith("\n"):
        lines[last - 1] += "\n"
    added = [f"{line}\n" for line in missing]
    if constants:
        added += ["\n", *(f"{line}\n" for line in constants)]
    if not last:
        added.append("\n")
    made = "".join([*lines[:last], *added, *lines[last:]])
    ast.parse(made)
    return made
