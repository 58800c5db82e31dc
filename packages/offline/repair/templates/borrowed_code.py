"""Templates that borrow from elsewhere in the file (plastic surgery, Barr 2014).

They use arguments of its other calls, names in its other conditions, functions that wrap values there, methods
called elsewhere in the project, and modules of the standard library.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator

from packages.offline.repair.templates.library_idioms import is_reference, list_conditions
from packages.offline.repair.templates.support.precedence import ATOM, COMPARISON, negate_condition
from packages.offline.repair.templates.support.template_site import Change, Site, template

MOST_KEYWORDS, MOST_CONDITIONS, MOST_METHODS = 10, 30, 8


@template(prior=0.6, precision=0.85)
def borrowed_argument(site: Site) -> Iterator[Change]:
    """Add a keyword argument that other calls of the same function have (plastic surgery; TBar FP10.4)."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            name, given = get_callee_name(node), {each.arg for each in node.keywords}
            every = [*map(site.get_text, node.args), *map(site.get_text, node.keywords)]
            for text, _ in site.source.keywords.get(name, Counter()).most_common(MOST_KEYWORDS):
                if text.partition("=")[0] not in given and _is_visible(site, text.partition("=")[2]):
                    new = f"{site.get_text(node.func)}({', '.join([*every, text])})"
                    yield site.replace_node(
                        node, new, f"`{text}` is missing in a call of `{site.get_text(node.func)}`"
                    )


@template(prior=0.35, precision=0.8)
def borrowed_condition(site: Site) -> Iterator[Change]:
    """Add a condition of the same class or file (ACS: predicates of the project, Xiong 2017)."""
    for test in list_conditions(site):
        if isinstance(test, ast.Constant):
            continue
        here = site.get_text(test)
        guarded, either = site.format_operand(test, COMPARISON), here
        for text, _ in site.source.conditions.most_common(MOST_CONDITIONS):
            if text not in here and _is_visible(site, text):
                why = f"`{text}` is not looked at"
                yield site.replace_node(test, f"{guarded} and {negate_condition(text)}", why)
                yield site.replace_node(test, f"{guarded} and {text}", why)
                yield site.replace_node(test, f"{either} or {text}", why)


@template(prior=0.25, precision=0.75)
def wrapped_by_module(site: Site) -> Iterator[Change]:
    """`x` → `f(x)`, f imported and called with one argument elsewhere in the file (TBar FP10.2)."""
    imported = {
        n for n, by in site.source.module_names.items() if isinstance(by, ast.ImportFrom | ast.Import)
    }
    counted = [
        name for name, _ in site.source.one_argument_calls.most_common() if name.split(".")[0] in imported
    ][:8]
    for node in site.nodes:
        above = site.source.parents.get(node)
        if (
            is_reference(node)
            and isinstance(
                above, ast.Call | ast.Assign | ast.Return | ast.Compare | ast.BinOp | ast.keyword | ast.Dict
            )
            and node is not getattr(above, "func", 0)
        ):
            for name in counted:
                yield site.replace_node(node, f"{name}({site.get_text(node)})")


@template(prior=0.3, precision=0.75)
def method_of_others(site: Site) -> Iterator[Change]:
    """`x` → `x.method()`, often called so in the project (PraPR, method call insertion; plastic surgery)."""
    usual = [
        name for name, _ in site.project_sources.bare_calls.most_common(MOST_METHODS) if name != "append"
    ]
    own = [name for name, _ in site.source.bare_calls.most_common(MOST_METHODS)]
    for node in site.nodes:
        above = site.source.parents.get(node)
        handed_on = isinstance(
            above,
            ast.Call
            | ast.Assign
            | ast.Return
            | ast.keyword
            | ast.Compare
            | ast.comprehension
            | ast.For
            | ast.Tuple,
        ) and node is not getattr(above, "func", 0)
        if handed_on and (is_reference(node) or isinstance(node, ast.Call)):
            for name in dict.fromkeys([*own, *usual]):
                yield site.replace_node(node, f"{site.format_operand(node, ATOM)}.{name}()")


@template(prior=4.0, precision=0.98)
def missing_import(site: Site) -> Iterator[Change]:
    """Import a module of the standard library that is used and not imported (NameError)."""
    first = next(
        (
            n
            for n in site.source.tree.body
            if isinstance(n, ast.Import | ast.ImportFrom) and getattr(n, "module", "") != "__future__"
        ),
        None,
    )
    for node in site.nodes:
        if isinstance(node, ast.Name) and node.id in site.hints.missing_names & sys.stdlib_module_names:
            start = site.source.get_line_start(first.lineno) if first else 0
            yield Change(
                start=start, end=start, text=f"import {node.id}\n", why=f"`{node.id}` is not imported"
            )


def get_callee_name(node: ast.Call) -> str:
    """Return the last name of the callee."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_visible(site: Site, text: str) -> bool:
    """Return whether every name of the expression is bound here."""
    return all(site.is_known(name) for name in site.source.find_names(text))
