"""Functions of Python files with their bodies emptied, as progressive code masking does (AutoExperiment)."""

from __future__ import annotations

import ast
from collections.abc import Collection

NOT_WRITTEN = 'raise NotImplementedError("to be written")'


def mask_functions(text: str, number: int, lines: Collection[int] = ()) -> tuple[str, list[str]]:
    """Return a file with the bodies of `number` functions emptied, and their names.

    The functions around the lines come first, then the longest ones. Signature and docstring stay.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # written for another Python
        return text, []
    functions = [each for each in ast.walk(tree) if _is_maskable(each)]

    def rank(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[bool, int]:
        own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return not any(line in own for line in lines), -len(own)

    chosen: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in sorted(
        (each for each in functions if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)), key=rank
    ):
        inside = any(_contains(other, node) or _contains(node, other) for other in chosen)
        if len(chosen) < number and not inside:
            chosen.append(node)
    rows = text.split("\n")
    for node in sorted(chosen, key=lambda each: -each.lineno):
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        start, end = body[0].lineno, node.end_lineno or body[-1].lineno
        indent = " " * body[0].col_offset
        rows[start - 1 : end] = [f"{indent}{NOT_WRITTEN}"]
    return "\n".join(rows), sorted(each.name for each in chosen)


def _is_maskable(node: ast.AST) -> bool:
    """Return whether a function has a body of its own on lines of their own."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return (
        bool(body) and body[0].lineno > node.lineno and (len(body) > 1 or not isinstance(body[0], ast.Pass))
    )


def _contains(
    outer: ast.FunctionDef | ast.AsyncFunctionDef, inner: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    return outer.lineno <= inner.lineno and (inner.end_lineno or 0) <= (outer.end_lineno or 0)
