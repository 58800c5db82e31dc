"""Changes to the control flow of a function, which pass weak tests more often than they are right.

The patterns are those of Tan et al. 2016 (anti-patterns in search-based program repair): added or removed
exits, reversed conditions, unreachable code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.templates.support.source_tree import Function

# Statements that leave a function or a loop, and statements that branch.
_EXITS = ast.Return | ast.Raise | ast.Break | ast.Continue
_FORKS = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.With | ast.AsyncWith | ast.Match
_COMPLEMENTS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE,
}  # fmt: skip


def reverses_control_flow(candidate: Candidate) -> bool:
    """Return whether a whole condition is negated, or exits of the function or its loops are changed."""
    before, after = _get_function_versions(candidate)
    if before is None or after is None:
        return False
    if _collect_control_flow(before.body) != _collect_control_flow(after.body):
        return True
    pairs = zip(_list_conditions(before), _list_conditions(after), strict=False)
    return any(_is_opposite(old, new) or _is_opposite(new, old) for old, new in pairs)


def leaves_dead_code(candidate: Candidate) -> bool:
    """Return whether the change makes a statement unreachable, after one that leaves its block."""
    before, after = _get_function_versions(candidate)
    return (
        before is not None
        and after is not None
        and _count_dead_statements(after) > _count_dead_statements(before)
    )


def find_function(text: str, function: Function) -> Function | None:
    """Return the function of the same name nearest to the original position; None when the text does not parse."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    alike = [n for n in ast.walk(tree) if isinstance(n, Function) and n.name == function.name]
    return min(alike, key=lambda n: abs(n.lineno - function.lineno), default=None)


def _get_function_versions(candidate: Candidate) -> tuple[Function | None, Function | None]:
    """Return the changed function before and after the change."""
    source, change = candidate.source, candidate.change
    function = source.find_enclosing_function(candidate.suspect.statement)
    if function is None:
        return None, None
    return function, find_function(
        source.text[: change.start] + change.text + source.text[change.end :], function
    )


def _count_dead_statements(function: Function) -> int:
    blocks = (
        getattr(node, name, None) for node in ast.walk(function) for name in ("body", "orelse", "finalbody")
    )
    return sum(isinstance(each, _EXITS) for block in blocks if isinstance(block, list) for each in block[:-1])


def _collect_control_flow(body: Iterable[ast.AST]) -> list[object]:
    """Return the branches and exits of a body; each branch contains its own."""
    found: list[object] = []
    for each in body:
        if isinstance(each, _EXITS):
            found.append(type(each))
        elif isinstance(each, _FORKS | ast.ExceptHandler | ast.match_case):
            blocks = (
                getattr(each, name, ()) for name in ("body", "handlers", "cases", "orelse", "finalbody")
            )
            found.append([type(each), *(_collect_control_flow(block) for block in blocks)])
    return found


def _list_conditions(function: Function) -> list[ast.expr]:
    return [each.test for each in ast.walk(function) if isinstance(each, ast.If | ast.While)]


def _is_opposite(old: ast.expr, new: ast.expr) -> bool:
    """Return whether the new condition negates the old one or has its branches swapped."""
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return ast.dump(new.operand) == ast.dump(old)
    if not (
        isinstance(old, ast.Compare) and isinstance(new, ast.Compare) and len(old.ops) == len(new.ops) == 1
    ):
        return False
    before, after = type(old.ops[0]), type(new.ops[0])
    (left, right), (first, second) = (
        (ast.dump(each.left), ast.dump(each.comparators[0])) for each in (old, new)
    )
    if (left, right) == (first, second):
        return after in (_COMPLEMENTS.get(before), _TURNED.get(before))
    return (left, right) == (second, first) and before is after and before in _TURNED
