"""Marks and calls by which a Python test is skipped or expected to fail."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.lint.gaming.units.python_measures import read_dotted_name

SKIP = compile_lazily(
    r"(?:^|\.)(?:skip|skipif|skipIf|skipUnless|skipTest|xfail|expectedFailure|XFAIL|SkipTest|importorskip)$"
)


def get_called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def list_skips(nodes: Sequence[ast.expr]) -> list[tuple[str, bool]]:
    found = []
    for node in nodes:
        dotted = read_dotted_name(get_called(node))
        if SKIP.search(dotted):
            found.append((dotted, _has_condition(node, dotted)))
    return found


def _has_condition(node: ast.expr, dotted: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if dotted.endswith(("skipif", "skipIf", "skipUnless")):
        first = next(iter(node.args), None)
        is_constant = isinstance(first, ast.Constant) and not isinstance(first.value, str)
        return not (
            is_constant or (isinstance(first, ast.UnaryOp) and isinstance(first.operand, ast.Constant))
        )
    if dotted.endswith("xfail"):
        return bool(node.args) or any(each.arg == "condition" for each in node.keywords)
    return False
