"""Faults put into Python by operators: one small edit of an expression or a statement in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from sandbox.lazy_dataclass import dataclass

_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED: Mapping[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//",
}  # fmt: skip

LARGEST_NUMBER = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An edit that makes a program wrong. operator: its name; line: where; text: the whole file with it"""

    operator: str
    line: int
    text: str


def generate_faults(text: str) -> Iterator[Fault]:
    """Yield the faults that can be put into the functions of a Python file, in the order of its lines."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # written for another Python
        return
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found: list[Fault] = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                inner = parents.get(node)
                for operator, new in _change_expression(node, inner):
                    found.append(_replace(text, node, operator, new))
                found += _change_statement(text, node, function)
    distinct = {each.text: each for each in found if each.text != text}
    yield from sorted(distinct.values(), key=lambda each: (each.line, each.operator))


def _change_expression(node: ast.AST, parent: ast.AST | None) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            yield "comparison", f"{ast.unparse(left)} {_COMPARED[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=[one, other]):
            word = "or" if isinstance(op, ast.And) else "and"
            yield "connective", f"({ast.unparse(one)}) {word} ({ast.unparse(other)})"
            yield "dropped-operand", f"({ast.unparse(one)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped-not", f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            yield "arithmetic", f"(({ast.unparse(left)}) {_COMPUTED[type(op)]} ({ast.unparse(right)}))"
            if isinstance(right, ast.Constant) and right.value == 1:
                yield "dropped-one", f"({ast.unparse(left)})"
        case ast.Constant(value=bool() as value):
            yield "constant", str(not value)
        case ast.Constant(value=int() as value) if abs(value) < LARGEST_NUMBER:
            yield "constant", str(value + 1)
        case ast.Call(func=function, args=[one, other], keywords=[]) if not isinstance(one, ast.Starred):
            yield "swapped-arguments", f"{ast.unparse(function)}({ast.unparse(other)}, {ast.unparse(one)})"
        case ast.IfExp(test=test, body=body, orelse=other):
            yield (
                "swapped-branches",
                f"({ast.unparse(other)} if {ast.unparse(test)} else {ast.unparse(body)})",
            )
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)) if (
            lower or upper
        ):
            whole = f"{ast.unparse(lower)}:" if lower else ""
            yield "dropped-bound", f"{ast.unparse(value)}[{whole if upper and lower else ':'}]"
        case ast.Await() | ast.JoinedStr():
            return


def _change_statement(text: str, node: ast.AST, function: ast.AST) -> Iterator[Fault]:
    """Yield faults that leave something out: a guard, a jump, a call for its effect."""
    match node:
        case ast.If(body=[ast.Return() | ast.Raise() | ast.Continue() | ast.Break()], orelse=[]):
            yield _replace(text, node, "dropped-guard", "pass")
        case ast.Expr(value=ast.Call()):
            yield _replace(text, node, "dropped-call", "pass")
        case ast.AugAssign(target=target, value=value):
            yield _replace(text, node, "plain-assignment", f"{ast.unparse(target)} = {ast.unparse(value)}")
        case ast.Break() | ast.Continue():
            yield _replace(text, node, "dropped-jump", "pass")


def _replace(text: str, node: ast.AST, operator: str, new: str) -> Fault:
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    # Positions of the tree count bytes.
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    data = b"".join(lines)
    changed = (data[:start] + new.encode() + data[end:]).decode()
    return Fault(operator=operator, line=node.lineno, text=changed)
