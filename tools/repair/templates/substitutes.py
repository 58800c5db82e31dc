"""Templates that put a value in the place of one that may be missing or was written down by mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.calls import called
from tools.repair.templates.practice import is_place
from tools.repair.templates.precedence import ATOM

_EMPTY = ("None", '""', "[]", "{}", "0")
MOST_CASES = 10


@template(prior=6.0, precision=0.97)
def missing_key_with_care(site: Site) -> Iterator[Change]:
    """`d["k"]` → `d.get("k")`, a key of which the failing tests say that it is missing (KeyError; PyTER)."""
    for node in site.nodes:
        key = node.slice if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else None
        if (
            isinstance(node, ast.Subscript)
            and isinstance(key, ast.Constant)
            and key.value in site.hints.missing_keys
        ):
            yield site.replace(node, f"{site.operand(node.value, ATOM)}.get({site.text(key)})")


@template(prior=0.35, precision=0.85)
def looked_up_with_care(site: Site) -> Iterator[Change]:
    """`d[k]` → `d.get(k)` where a missing key is no error (PyTER, guard)."""
    for node in site.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not isinstance(node.slice, ast.Slice | ast.Tuple | ast.UnaryOp) and not _is_number(node.slice):
            yield site.replace(node, f"{site.operand(node.value, ATOM)}.get({site.text(node.slice)})")


@template(prior=0.5, precision=0.85)
def nothing_for_none(site: Site) -> Iterator[Change]:
    """`hasattr(x, n)` → `getattr(x, n, None)`: set to None is as good as not there (Python's data model).

    The same for keys: `k in d` → `d.get(k)`; and for attributes the other way round.
    """
    for node in site.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            given = ", ".join(site.text(each) for each in node.args[:2])
            if node.func.id == "hasattr" and len(node.args) == 2:
                yield site.replace(node, f"getattr({given}, None)")
            elif node.func.id == "getattr" and len(node.args) == 3:
                yield site.replace(node, f"hasattr({given})")
        elif isinstance(node, ast.Compare) and [type(each) for each in node.ops] == [ast.In]:
            (place,) = node.comparators
            if isinstance(node.left, ast.Constant | ast.Name) and is_place(place):
                yield site.replace(node, f"{site.operand(place, ATOM)}.get({site.text(node.left)})")


@template(prior=0.35, precision=0.8)
def value_or_empty(site: Site) -> Iterator[Change]:
    """`x` → `x or ""` where something is handed on that may be None, or the other way round (PyTER, None guard)."""
    for node in site.nodes:
        above = site.source.parents.get(node)
        handed_on = isinstance(
            above, ast.Call | ast.keyword | ast.Assign | ast.Return | ast.For | ast.comprehension
        )
        if (
            not handed_on
            or node is getattr(above, "func", 0)
            or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        ):
            continue
        if is_place(node) or isinstance(node, ast.Call):
            for empty in _EMPTY:
                yield site.replace(node, f"{site.text(node)} or {empty}")
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            yield site.replace(node, site.text(node.values[0]))


@template(prior=0.35, precision=0.8)
def value_if_there(site: Site) -> Iterator[Change]:
    """`f(x)` → `None if x is None else f(x)` (PyTER, None guard; TBar FP2): of the whole value of a statement."""
    value = getattr(site.statement, "value", None)
    if not isinstance(site.statement, ast.Assign | ast.Return | ast.AugAssign) or not isinstance(
        value, ast.expr
    ):
        return
    if isinstance(value, ast.Constant | ast.Name | ast.IfExp):
        return
    inside = [n for n in ast.walk(value) if is_place(n) and isinstance(n, ast.Name | ast.Attribute)]
    heads = {id(n.func) for n in ast.walk(value) if isinstance(n, ast.Call)}
    names = [site.text(n) for n in inside if id(n) not in heads]
    whole = site.text(value)
    for name in [each for each in dict.fromkeys(names) if each not in site.source.module_names]:
        for empty in dict.fromkeys(["None", name, *_EMPTY[1:]]):
            yield site.replace(value, f"{whole} if {name} is not None else {empty}")
            yield site.replace(value, f"{whole} if {name} else {empty}")


@template(prior=0.7, precision=0.9)
def parameter_for_constant(site: Site) -> Iterator[Change]:
    """A value written down where a parameter of the same name is at hand: `self.depth = 3` (TBar FP13, FP9)."""
    target = site.statement.targets[0] if isinstance(site.statement, ast.Assign) else None
    name = target.attr if isinstance(target, ast.Attribute) else ""
    if name in site.variables and isinstance(site.statement, ast.Assign):
        yield site.replace(site.statement.value, name)
    for node in site.nodes:
        for each in node.keywords if isinstance(node, ast.Call) else ():
            if each.arg in site.variables and site.text(each.value) != each.arg:
                yield site.replace(each.value, str(each.arg))


@template(prior=0.35, precision=0.8)
def variable_for_constant(site: Site) -> Iterator[Change]:
    """A variable of the function where a number or text is written down (TBar FP9; mutation operators inverted)."""
    for node in site.nodes:
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            for name in site.variables:
                # An object is no number and no text, so that a comparison with it would say nothing.
                if node.value is None or name not in ("self", "cls"):
                    yield site.replace(node, name)


@template(prior=0.4, precision=0.85)
def more_cases(site: Site) -> Iterator[Change]:
    """`x == "a"` → `x in ("a", "b")`, b being what the file compares the same with elsewhere (ACS: Xiong 2017)."""
    for node in site.nodes:
        if not (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and isinstance(node.ops[0], ast.Eq | ast.NotEq)
        ):
            continue
        left, right = node.left, node.comparators[0]
        if not isinstance(right, ast.Constant | ast.Attribute):
            continue
        sign = "in" if isinstance(node.ops[0], ast.Eq) else "not in"
        others = [each for each in _compared_with(site, left) if each != site.text(right)]
        for other in others[:MOST_CASES]:
            yield site.replace(node, f"{site.text(left)} {sign} ({site.text(right)}, {other})")


@template(prior=0.25, precision=0.85)
def named_argument(site: Site) -> Iterator[Change]:
    """An argument that is taken for another parameter than the one that is meant (TBar FP10.4): `f(x)` → `f(p=x)`."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and node.args
            and not isinstance(node.args[-1], ast.Starred | ast.GeneratorExp)
        ):
            given = {each.arg for each in node.keywords}
            names = list(site.package.parameters(called(node)))[len(node.args) - 1 :]
            for name in [each for each in names if each not in given][:8]:
                yield site.replace(node.args[-1], f"{name}={site.text(node.args[-1])}")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)


def _compared_with(site: Site, left: ast.expr) -> list[str]:
    """What is compared elsewhere with something of the same last name, as often as it is."""
    name = left.attr if isinstance(left, ast.Attribute) else left.id if isinstance(left, ast.Name) else ""
    found = list(site.source.compared.get(name, ())) if name else []
    return found + [repr(word) for word in sorted(site.hints.words) if repr(word) not in found]
