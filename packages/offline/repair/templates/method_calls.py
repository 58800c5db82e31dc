"""Templates for methods: named and not called, called elsewhere in the project, known under the name of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.library_idioms import is_reference
from packages.offline.repair.templates.support.precedence import ATOM
from packages.offline.repair.templates.support.template_site import Change, Site, template

MOST_METHODS = 8
# Methods of built-in types that are useless without being called.
_CALLED = frozenset({
    "keys", "values", "items", "lower", "upper", "strip", "lstrip", "rstrip", "copy", "title", "casefold", "split",
    "splitlines", "encode", "decode", "isdigit", "isalpha", "isalnum", "isspace", "clear", "sort", "reverse", "close",
    "read", "readline", "readlines", "total_seconds",
})  # fmt: skip


@template(prior=0.6, precision=0.9)
def missing_parentheses(site: Site) -> Iterator[Change]:
    """Call a method that is only named: `d.keys` → `d.keys()` (PyTER); or the reverse for a property."""
    methods = site.project_sources.bare_calls
    for node in site.nodes:
        above = site.source.parents.get(node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            is_called = isinstance(above, ast.Call) and node is above.func
            if not is_called and (node.attr in _CALLED or node.attr in methods):
                yield site.replace_node(node, f"{site.get_text(node)}()")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and not (node.args or node.keywords)
        ):
            yield site.replace_node(node, site.get_text(node.func))


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
def unqualified_name(site: Site) -> Iterator[Change]:
    """Qualify an unbound name with an imported module that has it (NameError): `islice` → `itertools.islice`."""
    missing = site.hints.missing_names
    modules = [name for name, by in site.source.module_names.items() if isinstance(by, ast.Import)]
    for node in site.nodes:
        if isinstance(node, ast.Name) and node.id in missing:
            for module in modules:
                yield site.replace_node(node, f"{module}.{node.id}", f"`{node.id}` belongs to `{module}`")


def get_callee_name(node: ast.Call) -> str:
    """Return the last name of the callee."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
