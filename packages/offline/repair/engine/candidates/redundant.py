"""Redundant expressions: equivalent to a simpler candidate, or with a constant result."""

from __future__ import annotations

import ast

from sandbox.lazy_pattern import compile_lazily

_SUM, _PRODUCT = (ast.Add, ast.Sub), (ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)


def is_redundant(node: ast.AST) -> bool:
    """Return whether a simpler candidate is equivalent: `x - 0`, `x * 1`, `x + 1 - 1`, `x += -1`, fixed conditions."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, _SUM) and _is_negative_number(node.value)
    if isinstance(node, ast.BoolOp):
        return _is_decided(node)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return _is_text_test(node.test)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, _SUM) and _is_negative_number(node.right):
        return True
    if _is_boolean_call(node.left) or _is_boolean_call(node.right):
        return True
    right, left = _get_number(node.right), node.left
    if (right == 0 and isinstance(node.op, _SUM)) or (right == 1 and isinstance(node.op, _PRODUCT)):
        return True
    if not isinstance(left, ast.BinOp) or type(left.op) is type(node.op):
        return False
    sums = isinstance(node.op, _SUM) and isinstance(left.op, _SUM)
    return sums and right is not None and _get_number(left.right) == right


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def _is_decided(node: ast.BoolOp) -> bool:
    """Return whether the result is constant: `x is None and x is not None`, `not x or x`."""
    said = {ast.dump(each) for each in node.values}
    return any(ast.dump(opposite) in said for each in node.values if (opposite := _negate_condition(each)))


def _negate_condition(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPPOSITES:
        return ast.Compare(node.left, [_OPPOSITES[type(node.ops[0])]()], node.comparators)
    return None


def _is_text_test(test: ast.expr) -> bool:
    """Return whether a value is converted to text before its truth is tested: nearly always true."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return (
        isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in ("str", "repr")
    )


_ASKED = compile_lazily(
    r"(?:is|has|can|should|was|are)(?:_\w+|[A-Z]\w*)|isinstance|issubclass|is(?:digit|alpha|space|upper|lower)|callable"
    r"|hasattr|any|all|startswith|endswith"
)


def _is_boolean_call(node: ast.expr) -> bool:
    """Return whether the call returns a boolean, which is not used in arithmetic."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return _ASKED.fullmatch(name) is not None


def _is_negative_number(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    )


def _get_number(node: ast.expr) -> int | float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
