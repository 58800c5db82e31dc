"""Measures of a Python check: how much it asks for, its facts apart from names, and marks by which it is skipped."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.parsing.syntax import parse_word_set

ASSERTING = compile_lazily(
    r"^_*(?:assert|check|verify|expect|fail)|[a-z]_?assert|raises$|warns$", re.IGNORECASE
)

_STRENGTH = {
    **dict.fromkeys(("Eq", "Is"), 3),
    **dict.fromkeys(("In", "NotIn", "Lt", "LtE", "Gt", "GtE"), 2),
    **dict.fromkeys(("NotEq", "IsNot"), 1),
}
_TOLERANCES = ("abs", "rel", "atol", "rtol", "delta", "abs_tol", "rel_tol", "tolerance", "tol")
_LOOSE_CALLS = parse_word_set("len sorted set str repr round int bool type isinstance")
_LOOSE_METHODS = parse_word_set("lower upper strip split startswith endswith replace casefold")


def measure_strength(test: ast.expr) -> int:
    match test:
        case ast.Constant(value=value):
            return 0 if value else 3
        case ast.Tuple(elts=[_, *_]) | ast.Lambda() | ast.JoinedStr():
            return 0
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return 3 if value else 0
        case ast.UnaryOp(op=ast.Not()):
            return 1
        case ast.BoolOp(op=ast.Or(), values=values):
            strengths = [measure_strength(each) for each in values]
            if 0 in strengths or _covers_all(values):
                return 0
            return min(min(strengths), 2)
        case ast.BoolOp(values=values):
            return max(map(measure_strength, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if ast.dump(left) == ast.dump(right) and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
                return 0
            if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
                return 0
            if _is_size(left) and isinstance(right, ast.Constant) and _is_least(op, right.value):
                return 0
            if _is_wildcard(left) or _is_wildcard(right):
                return 0
            if isinstance(op, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set):
                return 0 if any(ast.dump(each) == ast.dump(left) for each in right.elts) else 2
            return _STRENGTH.get(type(op).__name__, 2)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return 0
        case ast.Call(func=ast.Name(id="bool" | "any"), args=[inner]) if isinstance(
            inner, ast.List | ast.Tuple
        ):
            return min([3, *map(measure_strength, inner.elts)])
        case _:
            return 1


def _covers_all(values: Sequence[ast.expr]) -> bool:
    """Return whether alternatives are opposites: `x is None or x is not None`."""
    opposites = {("Is", "IsNot"), ("Eq", "NotEq"), ("In", "NotIn")}
    seen = {
        (type(each.ops[0]).__name__, ast.dump(each.left), ast.dump(each.comparators[0]))
        for each in values
        if isinstance(each, ast.Compare)
    }
    return any((a, x, y) in seen and (b, x, y) in seen for a, b in opposites for _, x, y in seen)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and read_dotted_name(node.func) in ("len", "abs")


def _is_least(op: ast.cmpop, value: object) -> bool:
    """Return whether every size compares so with a value: at least 0, more than -1."""
    return (isinstance(op, ast.GtE) and value == 0) or (isinstance(op, ast.Gt | ast.NotEq) and value == -1)


def _is_wildcard(node: ast.expr) -> bool:
    return read_dotted_name(node).rpartition(".")[2] == "ANY"


def is_never(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return not value
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return bool(value)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(is_never, values))
        case ast.Compare(
            left=ast.Constant(value=left), ops=[ast.Eq()], comparators=[ast.Constant(value=right)]
        ):
            return bool(left != right)
        case _:
            return False


def list_facts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Constant():
                yield f"{type(each.value).__name__} {each.value!r}"
            case ast.Compare():
                yield from (type(operator).__name__ for operator in each.ops)
            case ast.BoolOp() | ast.UnaryOp():
                yield type(each.op).__name__
            case ast.Call() if ASSERTING.search(name := read_dotted_name(each.func).rpartition(".")[2]):
                yield name


def list_wrappers(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if isinstance(each.func, ast.Name) and each.func.id in _LOOSE_CALLS:
                yield each.func.id
            elif isinstance(each.func, ast.Attribute) and each.func.attr in _LOOSE_METHODS:
                yield each.func.attr
        elif isinstance(each, ast.Slice):
            yield "slice"


def list_tolerances(parts: Sequence[ast.AST]) -> Iterator[float]:
    for each in (node for part in parts for node in ast.walk(part)):
        match each:
            case ast.Call(func=func, keywords=keywords):
                for keyword in keywords:
                    if (value := read_number(keyword.value)) is not None:
                        if keyword.arg in _TOLERANCES:
                            yield value
                        elif keyword.arg in ("places", "decimal"):
                            yield 10.0**-value
                is_near = read_dotted_name(func).endswith(("assertAlmostEqual", "approx", "isclose"))
                if is_near and not any(keyword.arg in (*_TOLERANCES, "places") for keyword in keywords):
                    yield 1e-7
            case ast.Compare(
                left=ast.Call(func=func), ops=[ast.Lt() | ast.LtE(), *_], comparators=[value, *_]
            ) if read_dotted_name(func).endswith("abs"):
                if (number := read_number(value)) is not None:
                    yield number


def read_number(node: ast.AST) -> float | None:
    """Return a constant number, None for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
    return None


def read_dotted_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{read_dotted_name(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    return read_dotted_name(node.func) if isinstance(node, ast.Call) else ""


SKIP = compile_lazily(
    r"(?:^|\.)(?:skip|skipif|skipIf|skipUnless|skipTest|xfail|expectedFailure|XFAIL|SkipTest|importorskip)$"
)


def get_called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def list_skips(nodes: Sequence[ast.expr]) -> list[tuple[str, bool]]:
    """Return the marks that skip a test, or expect it to fail, and whether each has a condition."""
    named = [(node, read_dotted_name(get_called(node))) for node in nodes]
    return [(dotted, _has_condition(node, dotted)) for node, dotted in named if SKIP.search(dotted)]


def _has_condition(node: ast.expr, dotted: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if dotted.endswith(("skipif", "skipIf", "skipUnless")):
        match node.args[:1]:
            case [ast.Constant(value=value)]:
                return isinstance(value, str)
            case [ast.UnaryOp(operand=ast.Constant())]:
                return False
        return True
    return dotted.endswith("xfail") and bool(
        node.args or any(each.arg == "condition" for each in node.keywords)
    )
