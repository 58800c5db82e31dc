"""Templates that replace a value that may be missing, or a literal written by mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.borrowed_code import get_callee_name
from packages.offline.repair.templates.library_idioms import is_reference
from packages.offline.repair.templates.support.precedence import ATOM
from packages.offline.repair.templates.support.template_site import Change, Site, template

_EMPTY = ("None", '""', "[]", "{}", "0")


@template(prior=0.35, precision=0.85)
def looked_up_with_care(site: Site) -> Iterator[Change]:
    """`d[k]` → `d.get(k)` where a missing key is no error (PyTER, guard)."""
    for node in site.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not isinstance(node.slice, ast.Slice | ast.Tuple | ast.UnaryOp) and not _is_number(node.slice):
            yield site.replace_node(
                node, f"{site.format_operand(node.value, ATOM)}.get({site.get_text(node.slice)})"
            )


@template(prior=0.5, precision=0.85)
def nothing_for_none(site: Site) -> Iterator[Change]:
    """`hasattr(x, n)` → `getattr(x, n, None)`: None counts as missing (Python's data model).

    The same for keys: `k in d` → `d.get(k)`; and for attributes also reversed.
    """
    for node in site.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            given = ", ".join(site.get_text(each) for each in node.args[:2])
            if node.func.id == "hasattr" and len(node.args) == 2:
                yield site.replace_node(node, f"getattr({given}, None)")
            elif node.func.id == "getattr" and len(node.args) == 3:
                yield site.replace_node(node, f"hasattr({given})")
        elif isinstance(node, ast.Compare) and [type(each) for each in node.ops] == [ast.In]:
            (place,) = node.comparators
            if isinstance(node.left, ast.Constant | ast.Name) and is_reference(place):
                yield site.replace_node(
                    node, f"{site.format_operand(place, ATOM)}.get({site.get_text(node.left)})"
                )


@template(prior=0.35, precision=0.8)
def value_or_empty(site: Site) -> Iterator[Change]:
    """`x` → `x or ""` for a passed value that may be None, or the reverse (PyTER, None guard)."""
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
        if is_reference(node) or isinstance(node, ast.Call):
            for empty in _EMPTY:
                yield site.replace_node(node, f"{site.get_text(node)} or {empty}")
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            yield site.replace_node(node, site.get_text(node.values[0]))


@template(prior=0.35, precision=0.8)
def variable_for_constant(site: Site) -> Iterator[Change]:
    """Replace a literal number or text by a variable of the function (TBar FP9; mutation operators inverted)."""
    for node in site.nodes:
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            for name in site.variables:
                # An object is no number and no text, so comparing with it would be meaningless.
                if node.value is None or name not in ("self", "cls"):
                    yield site.replace_node(node, name)


@template(prior=0.25, precision=0.85)
def named_argument(site: Site) -> Iterator[Change]:
    """Pass an argument to another parameter, by name (TBar FP10.4): `f(x)` → `f(p=x)`."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and node.args
            and not isinstance(node.args[-1], ast.Starred | ast.GeneratorExp)
        ):
            given = {each.arg for each in node.keywords}
            names = list(site.project_sources.collect_parameters(get_callee_name(node)))[len(node.args) - 1 :]
            for name in [each for each in names if each not in given][:8]:
                yield site.replace_node(node.args[-1], f"{name}={site.get_text(node.args[-1])}")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)
