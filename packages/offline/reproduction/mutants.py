"""Mutants of the functions that a reproduction runs: it has to notice at least one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MOST = 4
"""Mutants that are tried for one reproduction."""

SIZE = 400_000
"""Characters of a file from which on it is left alone."""


def mutate_function(text: str, line: int, name: str) -> Iterator[str]:
    """Yield texts of a file in which the function at a line returns something else, or decides otherwise."""
    if len(text) > SIZE:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # written for another Python
        return
    function = _find_function(tree, line, name)
    if function is None:
        return
    lines = text.split("\n")
    first = function.body[1:] if _is_docstring(function.body[0]) and len(function.body) > 1 else function.body
    yield _insert_before(lines, first[0], "return None")
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield _wrap(lines, node.test, "(not (", "))")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield _wrap(lines, node.value, "[(", ")]")


def _find_function(tree: ast.Module, line: int, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            starts = (node.lineno, *(each.lineno for each in node.decorator_list))
            if line in starts:
                return node
    return None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _insert_before(lines: list[str], node: ast.stmt, statement: str) -> str:
    line = lines[node.lineno - 1]
    encoded = line.encode()
    changed = (encoded[: node.col_offset] + f"{statement}; ".encode() + encoded[node.col_offset :]).decode()
    if (
        isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef))
        or line.lstrip()[:1] == "@"
    ):
        changed = f"{encoded[: node.col_offset].decode()}{statement}\n{line}"
    return "\n".join([*lines[: node.lineno - 1], changed, *lines[node.lineno :]])


def _wrap(lines: list[str], node: ast.expr, before: str, after: str) -> str:
    end = (node.end_lineno or node.lineno) - 1
    changed = list(lines)
    encoded = changed[end].encode()
    changed[end] = (encoded[: node.end_col_offset] + after.encode() + encoded[node.end_col_offset :]).decode()
    encoded = changed[node.lineno - 1].encode()
    changed[node.lineno - 1] = (
        encoded[: node.col_offset] + before.encode() + encoded[node.col_offset :]
    ).decode()
    return "\n".join(changed)
