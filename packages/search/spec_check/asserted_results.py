"""Results that Python tests assert for calls with literal arguments, with the place of each expected value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.search.spec_check.told_results import normalise_literal, split_call
from sandbox.lazy_dataclass import dataclass

_EQUAL = frozenset(("assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertDictEqual"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertedResult:
    """One assertion. value: as `repr` writes it, "" for an error

    line, column, end: of the expected value in its line, in bytes; column -1 where it cannot be replaced
    """

    name: str
    arguments: str
    line: int
    value: str = ""
    error: str = ""
    column: int = -1
    end: int = -1


def find_asserted_results(text: str) -> list[AssertedResult]:
    """Return what a test file asserts, by line; [] if it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = (each for node in ast.walk(tree) for each in _read_node(node))
    return sorted(found, key=lambda each: each.line)


def _read_node(node: ast.AST) -> Iterator[AssertedResult]:
    match node:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right])):
            yield from _pair(left, right)
        case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if name in _EQUAL:
            yield from _pair(left, right)
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as raised)], body=[ast.Expr(value=inner)]):
            name = raised.func.attr if isinstance(raised.func, ast.Attribute) else ""
            error = ast.unparse(raised.args[0]) if raised.args else ""
            if name in ("raises", "assertRaises") and (call := split_call(inner)):
                yield AssertedResult(
                    name=call[0], arguments=call[1], error=error.rpartition(".")[2], line=inner.lineno
                )


def _pair(left: ast.expr, right: ast.expr) -> Iterator[AssertedResult]:
    for call, expected in ((left, right), (right, left)):
        if (found := split_call(call)) and (value := normalise_literal(ast.unparse(expected))):
            one_line = expected.end_lineno == expected.lineno
            yield AssertedResult(
                name=found[0],
                arguments=found[1],
                value=value,
                line=expected.lineno,
                column=expected.col_offset if one_line else -1,
                end=(expected.end_col_offset or -1) if one_line else -1,
            )
            return
