"""Template for statements that need a condition around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.precedence import negate_condition
from packages.offline.repair.templates.support.template_site import Change, Site, template

# Maximum number of conditions of the same function for one statement.
MOST_CONDITIONS = 8
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise)


@template(prior=0.3, precision=0.7)
def guarded(site: Site) -> Iterator[Change]:
    """Put a statement under a condition (TBar FP2; PraPR; wraps an `if` around it)."""
    statement, source = site.statement, site.source
    if not (isinstance(statement, _SIMPLE) and site.is_alone_on_lines and site.function is not None):
        return
    if statement.lineno != statement.end_lineno or source.parents.get(statement) is None:
        return
    margin, text = source.get_indentation(statement.lineno), site.get_text(statement)
    step = "\t" if "\t" in margin else "    "
    for condition in dict.fromkeys(_iter_conditions(site)):
        yield site.rewrite_statement(
            f"if {condition}:\n{margin}{step}{text}", f"`{text[:60]}` is to run only if `{condition}`"
        )


def _iter_conditions(site: Site) -> Iterator[str]:
    targets = site.statement.targets if isinstance(site.statement, ast.Assign | ast.Delete) else []
    for target in targets:
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            key, whole = site.get_text(target.slice), site.get_text(target.value)
            yield f"{key} in {whole}" if isinstance(site.statement, ast.Delete) else f"{key} not in {whole}"
    for node in site.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not isinstance(node.slice, ast.Slice | ast.Tuple | ast.UnaryOp):
            yield f"{site.get_text(node.slice)} in {site.get_text(node.value)}"
    read = [n for n in site.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    names = [name for name in dict.fromkeys(node.id for node in read) if name in site.variables]
    for name in names:
        if name not in ("self", "cls"):
            yield f"{name} is not None"
            yield name
    for text in _list_other_conditions(site)[:MOST_CONDITIONS]:
        yield text
        yield negate_condition(text)


def _list_other_conditions(site: Site) -> list[str]:
    """Return the conditions of the function's own `if`s, except for those around the statement."""
    around = set()
    node: ast.AST | None = site.statement
    while node is not None:
        around.add(node)
        node = site.source.parents.get(node)
    every = [n for n in site.source.list_nodes(site.function) if isinstance(n, ast.If) and n not in around]
    return [text for text in dict.fromkeys(site.get_text(n.test) for n in every) if "\n" not in text]
