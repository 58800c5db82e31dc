"""Templates that change names: variables, attributes, callees; undefined names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from packages.offline.repair.templates.support.name_similarity import find_nearest, sort_by_similarity
from packages.offline.repair.templates.support.precedence import ATOM
from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import BUILTINS, Change, Site, template

# Functions that are confused with one another.
_CALLEES = (
    ("any", "all"),
    ("min", "max", "sum"),
    ("len", "sum", "max"),
    ("sorted", "list", "reversed", "set", "tuple"),
    ("int", "float", "str", "round", "abs", "bool"),
    ("range", "enumerate", "len"),
    ("floor", "ceil", "round", "int"),
    ("isinstance", "issubclass"),
    ("getattr", "hasattr"),
    ("ord", "chr"),
    ("and_", "or_", "xor"),
    ("add", "sub", "mul"),
    ("lt", "le", "gt", "ge"),
    ("defaultdict", "Counter", "dict", "OrderedDict"),
    ("bisect_left", "bisect_right"),
    ("bytes", "bytearray", "str"),
    ("list", "tuple", "iter", "dict"),
)
_METHODS = (
    ("append", "extend", "add", "insert"),
    ("add", "update", "remove", "discard"),
    ("remove", "discard", "pop"),
    ("pop", "popleft", "get"),
    ("append", "appendleft"),
    ("lower", "upper", "title", "capitalize"),
    ("strip", "lstrip", "rstrip"),
    ("split", "rsplit", "splitlines", "partition"),
    ("partition", "rpartition"),
    ("startswith", "endswith"),
    ("find", "rfind", "index"),
    ("index", "rindex", "count"),
    ("keys", "values", "items"),
    ("get", "setdefault", "pop"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset"),
    ("isdigit", "isalpha", "isalnum", "isspace"),
    ("encode", "decode"),
    ("sub", "findall", "search", "match", "fullmatch"),
    ("heappush", "heappop", "heapify"),
)
# Methods of built-in types, which some objects have and others do not.
_USUAL = frozenset(name for group in _METHODS for name in group)


@template(prior=4.0, precision=0.98)
def misspelt_name(site: Site) -> Iterator[Change]:
    """Replace an unbound name by the most similar known one, or by an attribute (PyTER; NameError)."""
    for node in site.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not site.is_known(node.id):
            reachable = [*site.variables, *site.source.module_names, *sorted(BUILTINS)]
            for near in find_nearest(node.id, dict.fromkeys(reachable), 4, 0.5):
                yield site.replace_node(node, near, f"there is no `{node.id}`; `{near}` is meant")
            receiver = _get_receiver(site.function)
            if receiver and node.id in site.source.attributes:
                yield site.replace_node(
                    node, f"{receiver}.{node.id}", f"`{node.id}` is an attribute of `{receiver}`"
                )


@template(prior=3.0, precision=0.98)
def misspelt_attribute(site: Site) -> Iterator[Change]:
    """Replace an attribute that the failing tests report as missing (PyTER; AttributeError)."""
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and node.attr in site.hints.missing_attributes:
            if len(find_misspelt_places(site, node)) < 2:
                for near in find_similar_attributes(site, node):
                    yield _rename_attribute(site, node, near)
            yield site.replace_node(node, site.get_text(node.value))


def find_similar_attributes(site: Site, node: ast.Attribute) -> list[str]:
    """Return the attributes most similar to a missing one."""
    others = sorted({*site.source.attributes, *_USUAL} - {node.attr})
    return find_nearest(node.attr, others, 5, 0.4)


def find_misspelt_places(site: Site, node: ast.Attribute) -> list[ast.Attribute]:
    """Return all places of an attribute that no file binds and that is no method of a built-in type."""
    if node.attr in _USUAL or site.project_sources.binds_attribute(node.attr):
        return []
    every = (n for n in ast.walk(site.source.tree) if isinstance(n, ast.Attribute))
    return [each for each in every if each.attr == node.attr]


@template(prior=0.8)
def callee(site: Site) -> Iterator[Change]:
    """Call another function or method of the same kind (TBar FP10.1; mutmut's string methods)."""
    for node in site.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for name in _list_relatives(node.func.id, _CALLEES):
                yield site.replace_node(node.func, name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for name in _list_relatives(node.func.attr, (*_METHODS, *_CALLEES)):
                yield _rename_attribute(site, node.func, name)
        elif _is_handed_on(node, site) and not _is_type_argument(
            node, site
        ):  # types are left to another template
            old = node.id if isinstance(node, ast.Name) else node.attr
            for name in _list_relatives(old, _CALLEES):
                yield (
                    site.replace_node(node, name)
                    if isinstance(node, ast.Name)
                    else _rename_attribute(site, node, name)
                )


@template(prior=0.5)
def callee_of_the_module(site: Site) -> Iterator[Change]:
    """Call another function of the same file, the most similar first (PraPR, method call replacement)."""
    names = [function.name for function in site.source.functions]
    for node in site.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            old = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            for name in sort_by_similarity(
                old, [each for each in names if _is_same_kind(site, node.func, each)]
            )[:8]:
                if isinstance(node.func, ast.Name):
                    yield site.replace_node(node.func, name)
                else:
                    yield _rename_attribute(site, node.func, name)


@template(prior=0.9, precision=0.85)
def variable(site: Site) -> Iterator[Change]:
    """Use another variable of the function (TBar FP13.1; cosmic-ray's variable replacer; QuixBugs class 2)."""
    for node in site.nodes:
        used = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _is_callee(site, node)
        if isinstance(node, ast.Name) and used and node.id in site.variables:
            for name in sort_by_similarity(node.id, site.variables):
                yield site.replace_node(node, name)


@template(prior=0.35, precision=0.8)
def variable_for_expression(site: Site) -> Iterator[Change]:
    """Replace a computation or look-up by a variable of the function (TBar FP13.2, reversed)."""
    for node in site.nodes:
        computed = isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp)
        if computed and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not _is_callee(site, node):
            inside = (
                {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                if isinstance(node, ast.Call)
                else ()
            )
            for name in site.variables:
                if name not in inside:  # otherwise it would unwrap the expression
                    yield site.replace_node(node, name)


@template(prior=0.6)
def assigned_variable(site: Site) -> Iterator[Change]:
    """Assign the result to another name (TBar FP13; QuixBugs class 6)."""
    for target in _list_targets(site.statement):
        if isinstance(target, ast.Name):
            for name in sort_by_similarity(target.id, site.variables):
                yield site.replace_node(target, name)


@template(prior=0.3)
def assigned_place(site: Site) -> Iterator[Change]:
    """Assign the result to a target or expression from elsewhere in the function (TBar FP13.2)."""
    if site.function is None:
        return
    places = {
        site.get_text(node): node
        for node in site.source.list_nodes(site.function)
        if isinstance(node, ast.Subscript | ast.Attribute) and not _is_callee(site, node)
    }
    for name in site.variables:
        for key in site.variables:
            if any(text.startswith(f"{name}[") for text in places):
                places.setdefault(f"{name}[{key}]", site.function)  # type: ignore[arg-type]
    for target in _list_targets(site.statement):
        old = site.get_text(target)
        for text in sorted(places):
            if text != old:
                yield site.replace_node(target, text)


@template(prior=0.7)
def attribute(site: Site) -> Iterator[Change]:
    """Use another attribute or method from this file (TBar FP10.1 and FP13; QuixBugs class 11)."""
    for node in site.nodes:
        if isinstance(node, ast.Attribute):
            others = [name for name in site.source.attributes if name != node.attr]
            for name in sort_by_similarity(node.attr, others)[:12]:
                yield _rename_attribute(site, node, name)


@template(prior=0.4, precision=0.8)
def attribute_owner(site: Site) -> Iterator[Change]:
    """Replace an attribute by a variable, or an object by its attribute (PraPR, field replacement)."""
    owned: dict[str, set[str]] = {}
    for node in site.source.list_nodes(site.function):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and not _is_callee(site, node)
        ):
            owned.setdefault(node.value.id, set()).add(node.attr)
    for node in site.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _is_head(site, node):
            for attr in sorted(owned.get(node.id, ())):
                yield site.replace_node(node, f"{node.id}.{attr}")
            receiver = _get_receiver(site.function)
            if receiver and node.id != receiver and node.id in owned.get(receiver, ()):
                yield site.replace_node(node, f"{receiver}.{node.id}")
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not _is_callee(site, node)
        ):
            yield site.replace_node(node, site.format_operand(node.value, ATOM))


def _get_receiver(function: Function | None) -> str:
    first = function.args.args[0].arg if function and function.args.args else ""
    return first if first in ("self", "cls") else ""


def _rename_attribute(site: Site, node: ast.Attribute, name: str) -> Change:
    """Replace only the attribute's own name."""
    end = site.source.get_span(node)[1]
    why = f"`.{node.attr}` should be `.{name}`"
    return Change(start=end - len(node.attr), end=end, text=name, why=why)


def _list_relatives(name: str, groups: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(other for group in groups if name in group for other in group if other != name))


def _is_same_kind(site: Site, func: ast.expr, name: str) -> bool:
    """Return whether the name is of the callee's kind: a module function, or a method for an attribute call."""
    return (name in site.source.module_names) == isinstance(func, ast.Name)


def _is_callee(site: Site, node: ast.AST) -> bool:
    above = site.source.parents.get(node)
    return isinstance(above, ast.Call) and node is above.func


def _is_handed_on(node: ast.expr, site: Site) -> TypeGuard[ast.Name | ast.Attribute]:
    """Return whether it names an argument of a call: a function, maybe."""
    above = site.source.parents.get(node)
    if isinstance(above, ast.keyword):
        return isinstance(node, ast.Name | ast.Attribute)
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(above, ast.Call) and node in above.args


def _is_type_argument(node: ast.expr, site: Site) -> bool:
    """Return whether it is `T` of `isinstance(x, T)`."""
    above = site.source.parents.get(node)
    asks = isinstance(above, ast.Call) and getattr(above.func, "id", "") in ("isinstance", "issubclass")
    return asks and isinstance(above, ast.Call) and node in above.args[1:]


def _is_head(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return _is_callee(site, node) or (isinstance(above, ast.Attribute) and node is above.value)


def _list_targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return [
            e
            for target in statement.targets
            for e in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
    return [statement.target] if isinstance(statement, ast.AugAssign | ast.For) else []
