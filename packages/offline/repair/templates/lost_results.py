"""Templates for lost results: computed and dropped, or assigned from a method that returns None."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import Change, Site, template

# Methods of the built-in collections that change them in place and return None.
_IN_PLACE = frozenset(
    {"append", "extend", "insert", "remove", "sort", "reverse", "add", "update", "discard", "clear"}
)


@template(prior=1.2)
def result_of_none(site: Site) -> Iterator[Change]:
    """`x = x.append(y)`: the method changes the list and returns None, so the name is lost (PyTER, None)."""
    statement = site.statement
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return
    call = statement.value
    if isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PLACE:
        text = site.get_text(call)
        yield site.rewrite_statement(text, f"`{text}` changes its object and returns nothing to keep")
        if call.func.attr in ("sort", "reverse"):
            function = {"sort": "sorted", "reverse": "reversed"}[call.func.attr]
            yield site.replace_node(call, f"list({function}({site.get_text(call.func.value)}))")


@template(prior=1.2)
def dropped_result(site: Site) -> Iterator[Change]:
    """Assign a new value that is computed and dropped: `sorted(x)` → `x = sorted(x)` (TBar FP4)."""
    statement = site.statement
    if not isinstance(statement, ast.Expr):
        return
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name):
        kept = [value.left.id]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        kept = [each.id for each in value.args if isinstance(each, ast.Name)]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        owner, method = value.func.value, value.func.attr
        kept = [owner.id] if isinstance(owner, ast.Name) and method not in _IN_PLACE else []
    else:
        return
    for name in dict.fromkeys(kept):
        text = f"{name} = {site.get_text(value)}"
        yield site.rewrite_statement(
            text, f"the result of `{site.get_text(value)}` is dropped; `{text}` is meant"
        )


@template(prior=0.5, precision=0.8)
def missing_last_return(site: Site) -> Iterator[Change]:
    """Add a return to a function that ends without one, though it returns values elsewhere (TBar FP12)."""
    function = site.function
    if function is None or site.statement is not function.body[-1] or not site.is_alone_on_lines:
        return
    if isinstance(site.statement, ast.Return | ast.Raise | Function):
        return
    nodes = site.source.list_nodes(function)
    answers = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
    if not answers:
        return
    logical = any(isinstance(each, ast.Constant) and isinstance(each.value, bool) for each in answers)
    usual = ("False", "True") if logical else ("0", "-1", "None", "[]", '""', "True", "False")
    sizes = [f"len({each.arg})" for each in function.args.args if each.arg not in ("self", "cls")]
    for text in dict.fromkeys([*usual[:2], *map(site.get_text, answers), *sizes, *usual[2:]]):
        if "\n" not in text:
            yield site.insert_after(
                f"return {text}", f"`return {text}` is missing at the end of the function"
            )
