"""Templates for undefined names: a name that is bound nowhere, a method that no class has.

They apply only where Python itself would fail (NameError, AttributeError), so they may try much (PyTER, Oh &
Oh 2022).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.precedence import ATOM, COMPARISON, SUM
from packages.offline.repair.templates.support.template_site import Change, Site, template

_CONSTANTS = ("0", "1", "None", "True", "False", "[]", '""')
_BUILTINS = ("list", "set", "sum", "len", "max", "min", "sorted", "str", "int", "abs")


@template(prior=3.0, precision=0.85)
def undefined_name(site: Site) -> Iterator[Change]:
    """Replace an unbound name by any variable of the function, or a plain value (NameError)."""
    for node in _find_undefined_names(site):
        above = site.source.parents.get(node)
        why = f"there is no `{node.id}`"
        if isinstance(above, ast.Attribute) and isinstance(above.ctx, ast.Store):
            yield site.replace_node(above, above.attr, why)
            continue
        called = isinstance(above, ast.Call) and above.func is node
        for name in site.variables:
            if name != node.id:
                yield site.replace_node(node, name, f"{why}; `{name}` is meant")
        for text in _BUILTINS if called else dict.fromkeys((*_CONSTANTS, *_list_numbers(site))):
            yield site.replace_node(node, text, f"{why}; `{text}` is meant")


@template(prior=3.0)
def undefined_method(site: Site) -> Iterator[Change]:
    """Replace a call of an undefined method by a function of that name, its argument or an equivalent."""
    inside = [each for each in site.source.functions if site.source.find_enclosing_function(each) is None]
    defined = {function.name for function in inside if site.source.find_enclosing_class(function) is not None}
    for node in site.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        receiver = node.func.value
        if (
            not (isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"))
            or node.func.attr in defined
        ):
            continue
        if node.func.attr in site.source.assigned_attributes:
            continue
        if node.func.attr not in site.hints.missing_attributes and _may_be_inherited(site, node.func.attr):
            continue
        why = f"there is no method `{node.func.attr}`"
        for text in _iter_replacements(site, node, node.func.attr):
            yield site.replace_node(node, text, why)


def _may_be_inherited(site: Site, method: str) -> bool:
    """Return whether a class in another file has it: a base class or a subclass of this one."""
    own = site.source.find_enclosing_class(site.statement)
    of_object = own is not None and all(isinstance(b, ast.Name) and b.id == "object" for b in own.bases)
    return not of_object or method.startswith("assert") or site.project_sources.binds_attribute(method)


def _iter_replacements(site: Site, node: ast.Call, name: str) -> Iterator[str]:
    arguments = [*map(site.get_text, node.args), *map(site.get_text, node.keywords)]
    listed = ", ".join(arguments)
    yield f"{name}({listed})"
    if len(node.args) == 1 and not node.keywords:
        yield arguments[0]
        for function in (*_BUILTINS, "''.join", "not "):
            yield f"{function}({arguments[0]})"
        for method in ("values", "keys", "items"):
            yield f"list({site.format_operand(node.args[0], ATOM)}.{method}())"
    elif len(node.args) == 2 and not node.keywords:
        first, second = (site.format_operand(each, SUM) for each in node.args)
        level = [site.format_operand(each, COMPARISON + 1) for each in node.args]
        sums = [f"{first} {sign} {second}" for sign in ("+", "-", "*", "//")]
        comparisons = [f"{level[0]} {sign} {level[1]}" for sign in ("<", ">", "<=", ">=", "==")]
        yield from (*comparisons, *sums) if _is_condition(site, node) else (*sums, *comparisons)
        for function in ("max", "min", "abs"):
            yield f"{function}({listed})"
    if not arguments:
        yield from _CONSTANTS
        yield from (repr(each) for each in site.source.strings)
    yield from site.variables


def _is_condition(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    asked = isinstance(above, ast.If | ast.While | ast.IfExp) and above.test is node
    return (
        asked
        or isinstance(above, ast.BoolOp)
        or (isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not))
    )


def _list_numbers(site: Site) -> list[str]:
    """Return the number literals of the function."""
    nodes = site.source.list_nodes(site.function) if site.function else []
    values = {n.value for n in nodes if isinstance(n, ast.Constant) and type(n.value) is int}
    return [str(value) for value in sorted(values)]


def _find_undefined_names(site: Site) -> list[ast.Name]:
    return [
        node
        for node in site.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not site.is_known(node.id)
    ]
