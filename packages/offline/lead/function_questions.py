"""Questions for one function without its code: of code that they are shown, the smallest models only make copies.

The forms differ, since a model of that size answers one and not the other: assertions, a docstring with examples,
examples alone.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

MOST_EXAMPLES = 8
"""Assertions of a test that a question shows."""


def build_questions(function: str, test: str) -> list[str]:
    """Return questions for a function that has to pass a test; none if they cannot be read.

    function, test: sources of both
    """
    signature = _read_signature(function)
    asserted = list(_iter_asserted(test))[:MOST_EXAMPLES]
    if signature is None or not asserted:
        return []
    name, head = signature
    lines = "\n".join(f"assert {ast.unparse(each)}" for each in asserted)
    examples = "\n".join(_format_example(each) for each in asserted)
    docstring = textwrap.indent(f'"""\n{examples}\n"""', "    ")
    return [
        f"Write the Python function `{name}`. These must hold:\n```python\n{lines}\n```\n"
        "Reply with the whole function in one ```python block.",
        f"Complete this Python function:\n```python\n{head}\n{docstring}\n```",
        f"Write a Python function `{head.removeprefix('def ').removesuffix(':')}`.\nExamples:\n{examples}",
    ]


def _read_signature(source: str) -> tuple[str, str] | None:
    """Return a function's name and the line that begins it; None if it is no plain function."""
    node = _parse_function(source)
    if node is None or node.decorator_list:
        return None
    return node.name, f"def {node.name}({ast.unparse(node.args)}):"


def _parse_function(source: str) -> ast.FunctionDef | None:
    try:
        [node] = ast.parse(textwrap.dedent(source)).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _iter_asserted(test: str) -> Iterator[ast.expr]:
    node = _parse_function(test)
    for each in node.body if node is not None else ():
        if isinstance(each, ast.Assert):
            yield each.test


def _format_example(asserted: ast.expr) -> str:
    """Return an assertion as an example of a session."""
    if (
        isinstance(asserted, ast.Compare)
        and len(asserted.ops) == 1
        and isinstance(asserted.ops[0], ast.Eq | ast.Is)
    ):
        return f">>> {ast.unparse(asserted.left)}\n{ast.unparse(asserted.comparators[0])}"
    if isinstance(asserted, ast.UnaryOp) and isinstance(asserted.op, ast.Not):
        return f">>> {ast.unparse(asserted.operand)}\nFalse"
    return f">>> {ast.unparse(asserted)}\nTrue"
