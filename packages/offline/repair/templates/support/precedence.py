"""Precedence of Python's expressions: where new text needs parentheses."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

# How tightly expressions bind (the language reference's table, loosest first); an atom binds tightest.
LOOSEST, TERNARY, OR, AND, NOT, COMPARISON = 0, 1, 2, 3, 4, 5
BITOR, BITXOR, BITAND, SHIFT, SUM, PRODUCT, UNARY, POWER, AWAIT, ATOM = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
_OPERATORS: dict[type[ast.operator], int] = {
    ast.BitOr: BITOR,
    ast.BitXor: BITXOR,
    ast.BitAnd: BITAND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Pow: POWER,
}
_KINDS: dict[type[ast.expr], int] = {
    ast.NamedExpr: LOOSEST,
    ast.Lambda: TERNARY,
    ast.IfExp: TERNARY,
    ast.Yield: LOOSEST,
    ast.YieldFrom: LOOSEST,
    ast.Starred: LOOSEST,
    ast.Compare: COMPARISON,
    ast.Await: AWAIT,
}


def get_binding(node: ast.expr) -> int:
    """Return how tightly a node binds when written without parentheses of its own."""
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op), PRODUCT)
    if isinstance(node, ast.BoolOp):
        return OR if isinstance(node.op, ast.Or) else AND
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and str(node.value).startswith("-")
    ):
        return UNARY
    return _KINDS.get(type(node), ATOM)


def get_required_binding(parent: ast.AST | None, node: ast.expr) -> int:
    """Return how tightly a child must bind to need no parentheses in its parent."""
    if isinstance(parent, ast.BinOp):
        level = get_binding(parent)
        if isinstance(parent.op, ast.Pow):
            return UNARY if node is parent.right else AWAIT
        return level if node is parent.left else level + 1
    if isinstance(parent, ast.BoolOp):
        return get_binding(parent) + 1
    if isinstance(parent, ast.Compare):
        return BITOR
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else UNARY
    if isinstance(parent, ast.IfExp | ast.comprehension):
        return OR
    if isinstance(parent, ast.Starred):
        return BITOR
    if isinstance(parent, ast.Attribute | ast.Await) or _is_head(parent, node):
        return ATOM
    return TERNARY


def _is_head(parent: ast.AST | None, node: ast.expr) -> bool:
    if isinstance(parent, ast.Call):
        return node is parent.func
    return isinstance(parent, ast.Subscript) and node is parent.value


@lru_cache(maxsize=1 << 16)
def parse_binding(text: str) -> int:
    if text.isidentifier() or text.isdigit():
        return ATOM
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of texts such as `0or`, which no user sees
            node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:  # a slice or a keyword: no parentheses possible
        return ATOM
    if isinstance(node, ast.Tuple) and not text.lstrip().startswith("("):
        return LOOSEST
    return get_binding(node)


_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def negate_condition(text: str) -> str:
    """Return the negated condition, as a programmer would write it: `a != b`, not `not a == b`."""
    if text.isidentifier():
        return f"not {text}"
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:  # over several lines
        return f"not ({text})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _format_part(text, node.operand, COMPARISON)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITES:
        left, right = (_format_part(text, each, BITOR) for each in (node.left, node.comparators[0]))
        return f"{left} {_OPPOSITES[type(node.ops[0])]} {right}"
    return f"not {text}" if get_binding(node) >= NOT else f"not ({text})"


def _format_part(text: str, node: ast.expr, level: int) -> str:
    """Return an operand's text, in parentheses if it binds more loosely than `level`."""
    part = ast.get_source_segment(text, node) or ""
    return part if get_binding(node) >= level else f"({part})"
