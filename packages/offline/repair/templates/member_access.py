"""Templates for members: attributes of the same object, elements, defaults, displays."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from packages.offline.repair.templates.support.name_similarity import sort_by_similarity
from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import Change, Site, template

MOST_MEMBERS, MOST_CHAINS, MOST_DEFAULTS = 16, 20, 10


@template(prior=0.45, precision=0.85)
def member_of_owner(site: Site) -> Iterator[Change]:
    """Use another attribute or method of the same variable from elsewhere (TBar FP10.1, FP13; PraPR, field)."""
    for node in site.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name | ast.Attribute):
            continue
        root = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        members = site.source.usage.members_by_owner.get(
            root, Counter()
        ) or site.project_sources.count_members(root)
        calls = _is_callee(site, node)
        names = [n for n, _ in members.most_common() if n != node.attr]
        fitting = [n for n in names if ((root, n) in site.source.usage.called_members) == calls]
        for name in [*fitting, *(n for n in names if n not in fitting)][:MOST_MEMBERS]:
            end = site.source.get_span(node)[1]
            why = f"`.{node.attr}` should be `.{name}`"
            yield Change(start=end - len(node.attr), end=end, text=name, why=why)


@template(prior=0.25, precision=0.64)
def other_chain(site: Site) -> Iterator[Change]:
    """Use another chain from the same variable: `tb.tb_frame.f_lineno` → `tb.tb_lineno` (TBar FP13.2; Barr 2014)."""
    for node in site.nodes:
        if not isinstance(node, ast.Attribute | ast.Subscript | ast.Name) or _is_inside_chain(site, node):
            continue
        root = _get_root_name(node)
        if root is None or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        here = site.get_text(node)
        for text, _ in site.source.usage.chains.get(root, Counter()).most_common(MOST_CHAINS):
            if text != here and all(site.is_known(name) for name in site.source.find_names(text)):
                yield site.replace_node(node, text)


@template(prior=0.25, precision=0.64)
def element_of(site: Site) -> Iterator[Change]:
    """Pass an element instead of the whole collection: `xs` → `xs[i]` (TBar FP10, FP13.2)."""
    looped = [
        n.id
        for each in site.source.list_nodes(site.function)
        if isinstance(each, ast.For | ast.comprehension)
        for n in ast.walk(each.target)
        if isinstance(n, ast.Name)
    ]
    keys = list(dict.fromkeys([*looped, *(each for each in site.variables if len(each) < 4)]))
    for node in site.nodes:
        above = site.source.parents.get(node)
        handed_on = isinstance(
            above, ast.Call | ast.keyword | ast.Compare | ast.BinOp | ast.Return | ast.Assign
        )
        if not handed_on or node is getattr(above, "func", 0) or _is_stored(node):
            continue
        if isinstance(node, ast.Name | ast.Attribute):
            for key in [each for each in keys if each != site.get_text(node)][:MOST_DEFAULTS]:
                yield site.replace_node(node, f"{site.get_text(node)}[{key}]")


@template(prior=0.2, precision=0.64)
def argument_at_end(site: Site) -> Iterator[Change]:
    """Append an argument where the number of parameters is unknown: `s.find(x)` → `s.find(x, start)` (TBar FP10.4)."""
    for node in site.nodes:
        if not isinstance(node, ast.Call) or not node.args or node.keywords:
            continue
        if isinstance(node.args[-1], ast.Starred | ast.GeneratorExp):
            continue
        given = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        end = site.source.get_span(node.args[-1])[1]
        for name in [each for each in site.variables if each not in given][:MOST_MEMBERS]:
            yield Change(start=end, end=end, text=f", {name}", why=f"`{name}` is not passed on")


@template(prior=0.25, precision=0.64)
def alone_for_display(site: Site) -> Iterator[Change]:
    """Exchange `x` and `(x,)`, or a list of it (PyTER; TBar FP13)."""
    for node in site.nodes:
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1 and not _is_stored(node):
            yield site.replace_node(node, site.get_text(node.elts[0]))
        above = site.source.parents.get(node)
        handed_on = isinstance(above, ast.Call | ast.keyword | ast.Return | ast.Assign | ast.BinOp)
        if not handed_on or node is getattr(above, "func", 0) or _is_stored(node):
            continue
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant):
            yield site.replace_node(node, f"[{site.get_text(node)}]")
            yield site.replace_node(node, f"({site.get_text(node)},)")


@template(prior=0.35, precision=0.85)
def default_given(site: Site) -> Iterator[Change]:
    """`d.get(k)` → `d.get(k, "")`, `getattr(x, n)` → `getattr(x, n, None)`, `next(i)` → `next(i, None)` (PyTER)."""
    defaults = ("None", '""', "[]", "{}", "False", "0", "()", "True")
    for node in site.nodes:
        if not isinstance(node, ast.Call) or node.keywords:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if (name, len(node.args)) not in {
            ("get", 1),
            ("getattr", 2),
            ("next", 1),
            ("pop", 1),
            ("setdefault", 1),
        }:
            continue
        end = site.source.get_span(node.args[-1])[1]
        for value in (*defaults, *site.variables[:MOST_DEFAULTS]):
            why = f"`{value}` is missing, for where there is nothing"
            yield Change(start=end, end=end, text=f", {value}", why=why)


@template(prior=0.5, precision=0.8)
def default_value(site: Site) -> Iterator[Change]:
    """Change a parameter's default, or add one (TBar FP9; PyTER)."""
    if not isinstance(site.statement, Function):
        return
    arguments = site.statement.args
    defaults = [*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None)]
    for node in defaults:
        for value in ("None", "True", "False", "()", '""', "0", "1"):
            if value != site.get_text(node):
                yield site.replace_node(node, value)
    plain = [*arguments.posonlyargs, *arguments.args]
    lacking = plain[: len(plain) - len(arguments.defaults)]
    for each in lacking[-1:]:
        if each.annotation is None and each.arg not in ("self", "cls"):
            end = site.source.to_offset(each.end_lineno or 0, each.end_col_offset or 0)
            for value in ("None", "True", "False", "()", '""', "0"):
                yield Change(start=end, end=end, text=f"={value}", why=f"`{each.arg}` may be left out")


@template(prior=0.3, precision=0.8)
def name_of_module(site: Site) -> Iterator[Change]:
    """Replace a built-in or imported name by another one of the module (TBar FP13; PySStuBs: Kamienski 2021)."""
    own = [n for n, by in site.source.module_names.items() if not isinstance(by, ast.Import)]
    for node in site.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in site.variables:
            calls = _is_callee(site, node)
            kind = type(site.source.module_names.get(node.id))
            alike = (
                [n for n in own if type(site.source.module_names[n]) is kind]
                if kind is not type(None)
                else own
            )
            fitting = [
                n for n in alike if not calls or not isinstance(site.source.module_names[n], ast.Assign)
            ]
            for name in sort_by_similarity(node.id, fitting)[:MOST_MEMBERS]:
                yield site.replace_node(node, name)


def _is_callee(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return isinstance(above, ast.Call) and node is above.func


def _is_stored(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def _is_inside_chain(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    goes_on = isinstance(above, ast.Attribute) or (isinstance(above, ast.Subscript) and node is above.value)
    return goes_on or _is_callee(site, node)


def _get_root_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
