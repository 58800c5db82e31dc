"""What kind of change an edit is, by the first place where two syntax trees differ."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence


def kind_of(old: Sequence[str], new: Sequence[str]) -> str:
    """A few words for the change of some lines (statements of plain programs) to others."""
    if not old or not new:
        lines, verb = (new, "inserted") if new else (old, "removed")
        what = _header(lines[0])
        return f"{len(lines)} statements {verb}" if len(lines) > 1 else f"{_statement(what)} {verb}"
    if len(old) != len(new) or len(old) > 1:
        return "several statements"
    before, after = _header(old[0]), _header(new[0])
    if before is None or after is None:
        return "header changed"
    if ast.dump(before) == ast.dump(after):
        return "indentation"
    if type(before) is not type(after):
        return f"{_statement(before)} to {_statement(after)}"
    if isinstance(before, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "definition's header"
    return _difference(before, after)


def _header(line: str) -> ast.stmt | None:
    text = textwrap.dedent(line).strip()
    for each in (
        text,
        f"{text}\n    pass",
        f"if 1:\n    pass\n{text}\n    pass",
        f"try:\n    pass\n{text}\n    pass",
    ):
        try:
            return ast.parse(each).body[0]
        except SyntaxError:
            continue
    return None


def _statement(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "call"
    return type(node).__name__.lower() if node else "header"


def _difference(before: ast.AST, after: ast.AST) -> str:
    """Down to the smallest part of one that holds all that differs in the other."""
    while type(before) is type(after):
        fields = [(name, getattr(before, name, None), getattr(after, name, None)) for name in before._fields]
        differing = [(name, one, other) for name, one, other in fields if _dump(one) != _dump(other)]
        if len(differing) != 1:
            break
        name, one, other = differing[0]
        if isinstance(one, list) and isinstance(other, list):
            places = [i for i, (x, y) in enumerate(zip(one, other, strict=False)) if _dump(x) != _dump(y)]
            if len(one) == len(other) and len(places) == 1 and isinstance(one[places[0]], ast.AST):
                before, after = one[places[0]], other[places[0]]
                continue
            return _of_list(before, name, len(one), len(other))
        if not (isinstance(one, ast.AST) and isinstance(other, ast.AST)):
            return _of_value(before, name)
        before, after = one, other
    return _of_expressions(before, after)


def _of_list(node: ast.AST, name: str, old: int, new: int) -> str:
    verb = "added" if new > old else "removed" if new < old else "changed"
    if isinstance(node, ast.Call):
        return f"argument {verb}" if name == "args" else f"keyword {verb}"
    if isinstance(node, ast.BoolOp):
        return f"operand of and/or {verb}"
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return f"element {verb}"
    return f"{type(node).__name__.lower()}.{name} {verb}"


def _of_value(node: ast.AST, name: str) -> str:
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} constant"
    kinds = {"Name": "name", "Attribute": "attribute name", "keyword": "keyword's name"}
    return kinds.get(type(node).__name__, f"{type(node).__name__.lower()}.{name}")


def _of_expressions(before: ast.AST, after: ast.AST) -> str:
    old, new = _dump(before), _dump(after)
    if old in new:
        if isinstance(after, ast.BoolOp):
            return "joined by and/or"
        if isinstance(after, ast.Call):
            inside = any(_dump(each) == old for each in after.args)
            return "wrapped in a call" if inside else "method called on it"
        return f"put into {type(after).__name__.lower()}"
    if new in old:
        return f"taken out of {type(before).__name__.lower()}"
    if isinstance(before, ast.cmpop | ast.operator | ast.boolop | ast.unaryop):
        return "operator"
    one, other = type(before).__name__.lower(), type(after).__name__.lower()
    return f"two parts of {one}" if one == other else f"{one} for {other}"


def _dump(node: object) -> str:
    if isinstance(node, list):
        return "[" + ", ".join(map(_dump, node)) + "]"
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)
