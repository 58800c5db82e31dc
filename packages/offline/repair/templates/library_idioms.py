"""Templates for faults in libraries rather than in exercises.

Unconsidered types, None treated as falsy, values not normalised.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.precedence import ATOM, COMPARISON
from packages.offline.repair.templates.support.template_site import Change, Site, template

_NORMALISING = ("lower", "upper", "strip", "casefold", "copy", "rstrip", "lstrip")
_TYPES = ("str", "bytes", "int", "float", "list", "tuple", "set", "frozenset", "dict", "bool", "type(None)")
MOST_TYPES = 14


@template(prior=0.9, precision=0.9)
def none_for_falsy(site: Site) -> Iterator[Change]:
    """Exchange `if x` and `if x is not None`: 0 is a value too (PyTER, None check)."""
    for node in _iter_truth_operands(site):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_reference(node.operand):
            yield site.replace_node(node, f"{site.get_text(node.operand)} is None")
        elif is_reference(node):
            yield site.replace_node(node, f"{site.get_text(node)} is not None")
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Is | ast.IsNot)
            and len(node.ops) == 1
        ):
            left = site.get_text(node.left)
            yield site.replace_node(node, left if isinstance(node.ops[0], ast.IsNot) else f"not {left}")
    for node in site.nodes:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            first, second = map(site.get_text, node.values)
            if is_reference(node.values[0]):
                yield site.replace_node(node, f"{first} if {first} is not None else {second}")
        elif isinstance(node, ast.Call) and len(node.args) == 2 and site.get_text(node.func).endswith(".get"):
            key, default = map(site.get_text, node.args)
            yield site.replace_node(node, f"{site.get_text(node.func)}({key}) or {default}")


@template(prior=0.45, precision=0.85)
def normalised(site: Site) -> Iterator[Change]:
    """`x` → `x.lower()`, `.strip()`, `.copy()`: compared or stored unchanged (PraPR, method call insertion)."""
    for node in site.nodes:
        above = site.source.parents.get(node)
        compared = isinstance(above, ast.Compare | ast.Subscript) and (
            not isinstance(above, ast.Subscript) or node is above.slice
        )
        passed = isinstance(above, ast.Call | ast.Assign | ast.Return | ast.keyword) and node is not getattr(
            above, "func", 0
        )
        if not (compared or passed) or not (is_reference(node) or isinstance(node, ast.Call)):
            continue
        for method in _NORMALISING[: 4 if compared else 7]:
            yield site.replace_node(node, f"{site.format_operand(node, ATOM)}.{method}()")


@template(prior=0.6, precision=0.85)
def more_types(site: Site) -> Iterator[Change]:
    """Add a type to `isinstance` or `except`, for an unconsidered case (PyTER; TBar FP1)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ) and len(node.args) == 2:
            yield from _add_types(site, node.args[1], _list_types(site))
            if isinstance(node.args[1], ast.Tuple):
                for place in range(len(node.args[1].elts)):
                    kept = [site.get_text(e) for i, e in enumerate(node.args[1].elts) if i != place]
                    yield site.replace_node(node.args[1], f"({', '.join(kept)},)")
    if isinstance(site.statement, ast.Try):
        for handler in site.statement.handlers:
            if handler.type is not None:
                common = ("TypeError", "ValueError", "AttributeError", "KeyError", "IndexError", "OSError")
                yield from _add_types(site, handler.type, [*sorted(site.hints.errors), *common])


@template(prior=0.35, precision=0.75)
def typed_condition(site: Site) -> Iterator[Change]:
    """Restrict a condition to one type (PyTER, type guard): `c` → `isinstance(x, str) and c`."""
    for test in list_conditions(site):
        names = [n.id for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in site.variables]
        for name in dict.fromkeys(names):
            for kind in _list_types(site)[:8]:
                yield site.replace_node(
                    test, f"isinstance({name}, {kind}) and {site.format_operand(test, COMPARISON)}"
                )
                yield site.replace_node(
                    test, f"{site.format_operand(test, COMPARISON)} and not isinstance({name}, {kind})"
                )


def _iter_truth_operands(site: Site) -> Iterator[ast.expr]:
    """Yield operands that are only tested for truth."""
    for test in list_conditions(site):
        todo = [test]
        while todo:
            node = todo.pop(0)
            if isinstance(node, ast.BoolOp):
                todo.extend(node.values)
            else:
                yield node


def list_conditions(site: Site) -> list[ast.expr]:
    found = [site.statement.test] if isinstance(site.statement, ast.If | ast.While | ast.Assert) else []
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(test for each in node.generators for test in each.ifs)
    return found


def is_reference(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load)


def _list_types(site: Site) -> list[str]:
    """Return classes of the file, and the built-in ones."""
    own = [name for name, by in site.source.module_names.items() if isinstance(by, ast.ClassDef)]
    imported = [
        n for n, by in site.source.module_names.items() if isinstance(by, ast.ImportFrom) and n[:1].isupper()
    ]
    around = site.source.find_enclosing_class(site.statement)
    first = [around.name] if around else []
    return list(dict.fromkeys([*first, *_TYPES[:6], *own[:MOST_TYPES], *imported[:MOST_TYPES], *_TYPES[6:]]))


def _add_types(site: Site, node: ast.expr, names: list[str]) -> Iterator[Change]:
    held = (
        [site.get_text(each) for each in node.elts] if isinstance(node, ast.Tuple) else [site.get_text(node)]
    )
    for name in names:
        if name not in held:
            yield site.replace_node(
                node, f"({', '.join([*held, name])})", f"`{name}` is not among `{site.get_text(node)}`"
            )
