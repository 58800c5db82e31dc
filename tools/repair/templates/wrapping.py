"""Templates for functions made of other functions, which lose the name and the rest that `functools.wraps` hands on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.source import Function


@template(prior=0.5, precision=0.9)
def wrapped_as(site: Site) -> Iterator[Change]:
    """A wrapper that is to be called what it wraps: `wraps(f)(partial(f, x))`, `@wraps(f)` (PraPR, call wrapped)."""
    for wraps in _spelt(site, "wraps"):
        for node in site.nodes:
            if _is_partial(node):
                for name in _names_in(site, node.args[0]):
                    text = f"{wraps}({name})({site.text(node)})"
                    yield site.replace(
                        node, text, f"what is made of `{name}` is not called so: `{wraps}` is missing"
                    )
        if isinstance(site.statement, Function) and not site.statement.decorator_list:
            for name in _called_from_outside(site, site.statement):
                yield site.insert_before(f"@{wraps}({name})", f"`@{wraps}({name})` is missing")


def _spelt(site: Site, name: str) -> list[str]:
    """How the file may call a function of `functools`."""
    found = [name] if name in site.source.module_names else []
    return [*found, f"functools.{name}"] if "functools" in site.source.module_names else found


def _is_partial(node: ast.expr) -> TypeGuard[ast.Call]:
    if not (isinstance(node, ast.Call) and node.args):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("partial", "partialmethod")


def _names_in(site: Site, node: ast.expr) -> list[str]:
    """Of the function that is filled in: the names of which it may be made."""
    names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in site.variables]
    return [name for name in dict.fromkeys(names) if name not in ("self", "cls")][:2] or [site.text(node)]


def _called_from_outside(site: Site, function: Function) -> list[str]:
    """What an inner function calls that a function around it was given."""
    around = site.source.enclosing(function)
    if around is None:
        return []
    given = [each.arg for each in (*around.args.posonlyargs, *around.args.args)]
    called = {
        n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    return [name for name in given if name in called]
