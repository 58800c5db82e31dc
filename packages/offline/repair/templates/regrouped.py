"""Templates for forgotten brackets: `(a + b) * c`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.template_site import Change, Site, template


@template(prior=0.2, precision=0.9)
def brackets_forgotten(site: Site) -> Iterator[Change]:
    """Regroup the same operands: `a + b % m` → `(a + b) % m` (TBar FP11; re-association)."""
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            yield from _regroup_operands(site, node)
        elif isinstance(node, ast.BoolOp):
            for place, each in enumerate(node.values):
                if isinstance(each, ast.BoolOp) and type(each.op) is not type(node.op):
                    yield from _regroup_conditions(site, node, place, each)


def _regroup_operands(site: Site, node: ast.BinOp) -> Iterator[Change]:
    left, right = node.left, node.right
    one = _get_operator_text(site, left, right)
    if isinstance(left, ast.BinOp):
        two = _get_operator_text(site, left.left, left.right)
        a, b, c = site.get_text(left.left), site.get_text(left.right), site.get_text(right)
        yield site.replace_node(node, f"{a} {two} ({b} {one} {c})")
        yield site.replace_node(node, f"({a} {one} {c}) {two} {b}")
    if isinstance(right, ast.BinOp):
        two = _get_operator_text(site, right.left, right.right)
        a, b, c = site.get_text(left), site.get_text(right.left), site.get_text(right.right)
        yield site.replace_node(node, f"({a} {one} {b}) {two} {c}")


def _get_operator_text(site: Site, left: ast.expr, right: ast.expr) -> str:
    """Return an operator as it is written, without neighbouring brackets."""
    start, end = site.get_span_between(left, right)
    return site.source.text[start:end].strip("() \t\n\\")


def _regroup_conditions(site: Site, node: ast.BoolOp, place: int, inner: ast.BoolOp) -> Iterator[Change]:
    """`a and b or c` → `a and (b or c)`; existing brackets are dissolved."""
    outer, within = ("or", "and") if isinstance(node.op, ast.Or) else ("and", "or")
    if place + 1 < len(node.values):
        *head, last = map(site.get_text, inner.values)
        rest = [last, *map(site.get_text, node.values[place + 1 :])]
        before = [site.get_text(each) for each in node.values[:place]]
        text = f" {within} ".join([*head, f"({f' {outer} '.join(rest)})"])
        yield site.replace_node(node, f" {outer} ".join([*before, f"({text})"]) if before else text)
    if place:
        first, *tail = map(site.get_text, inner.values)
        rest = [*map(site.get_text, node.values[:place]), first]
        after = [site.get_text(each) for each in node.values[place + 1 :]]
        text = f" {within} ".join([f"({f' {outer} '.join(rest)})", *tail])
        yield site.replace_node(node, f" {outer} ".join([f"({text})", *after]) if after else text)
