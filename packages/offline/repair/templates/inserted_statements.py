"""Templates that insert a whole statement: a guard from other functions, a conversion before a value is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import Change, Site, template

MOST_GUARDS, MOST_RESULTS = 30, 6
_CONVERSIONS = ("list", "tuple", "str", "int", "float", "set", "dict", "iter", "bool", "sorted")
_METHODS = ("strip", "lower", "copy", "upper", "rstrip", "lstrip")


@template(prior=0.15, precision=0.54)
def converted_before(site: Site) -> Iterator[Change]:
    """Insert `x = list(x)`, `x = x.strip()` before x is used (PyTER, conversion; TBar FP4)."""
    if not _accepts_lines(site):
        return
    read = [n.id for n in site.nodes if isinstance(n, ast.Name) and n.id in site.variables]
    usual = [name for name, _ in site.source.one_argument_calls.most_common(MOST_RESULTS)]
    for name in list(dict.fromkeys(read))[:4]:
        texts = [
            f"{name} = {f}({name})"
            for f in dict.fromkeys([*_CONVERSIONS, *usual])
            if site.is_known(f.split(".")[0])
        ]
        texts += [f"{name} = {name}.{method}()" for method in _METHODS]
        for text in texts:
            yield site.insert_before(text, f"`{text}` is missing")


@template(prior=0.2, precision=0.54)
def guard_of_others(site: Site) -> Iterator[Change]:
    """Insert `if c: return x`, an early exit of other functions of the file (TBar FP2; Barr 2014)."""
    if not _accepts_lines(site):
        return
    in_loop = any(isinstance(each, ast.For | ast.While) for each in _iter_enclosing(site))
    for (test, done), _ in site.source.usage.jump_guards.most_common(MOST_GUARDS):
        jumps = done in ("continue", "break")
        read = site.source.find_names(test)
        if (jumps and not in_loop) or not all(site.is_known(name) for name in read | _collect_names(done)):
            continue
        yield site.insert_before(f"if {test}:\n    {done}", f"`{test}` is not handled: `{done}` is missing")


def _accepts_lines(site: Site) -> bool:
    """Return whether lines may be inserted at the statement: it is in a function and alone on its lines."""
    inside = site.function is not None and not isinstance(site.statement, Function)
    return inside and site.is_alone_on_lines


def _iter_enclosing(site: Site) -> Iterator[ast.AST]:
    node = site.source.parents.get(site.statement)
    while node is not None and not isinstance(node, Function):
        yield node
        node = site.source.parents.get(node)


def _collect_names(statement: str) -> frozenset[str]:
    """Return the names that a jump reads."""
    return frozenset(node.id for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Name))
