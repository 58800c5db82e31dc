"""Templates that change conditions: weakened, strengthened, replaced; predicates that are returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.precedence import AND, NOT
from packages.offline.repair.templates.support.template_site import Change, Site, template


@template(prior=0.5, precision=0.82)
def weakened_condition(site: Site) -> Iterator[Change]:
    """`c` → `x or c` (TBar FP6.3; ACS, Xiong 2017): a case that is not caught."""
    for test in _list_nonconstant_conditions(site):
        for check in _iter_checks(site, test):
            yield site.replace_node(
                test, f"{check} or {site.get_text(test)}", f"`{check}` is a case that is not caught"
            )
            if site.get_text(test).count(check.split()[0]) == 0:
                yield site.replace_node(
                    test, f"{site.get_text(test)} or {check}", f"`{check}` is a case that is not caught"
                )


@template(prior=0.5, precision=0.85)
def strengthened_condition(site: Site) -> Iterator[Change]:
    """`c` → `x and c` (TBar FP6.3; PraPR pre-condition): a missing check."""
    for test in _list_nonconstant_conditions(site):
        asked = [n for n in ast.walk(test) if isinstance(n, ast.Attribute)]
        # Such a value is empty in the tests only by chance: it is of another type.
        others = {site.get_text(each.value) for each in asked if not site.hints.may_be_none(each.attr)}
        for check in (*site.variables, *_list_attributes(site, test), *_iter_checks(site, test)):
            if check in others:
                continue
            guarded = f"{check} and {site.format_operand(test, AND)}"
            yield site.replace_node(test, guarded, f"`{check}` is not checked before `{site.get_text(test)}`")


@template(prior=0.3, precision=0.7)
def replaced_condition(site: Site) -> Iterator[Change]:
    """Replace the condition by one on another variable (TBar FP6.1)."""
    for test in _list_conditions(site):
        for name in (*site.variables, *_list_attributes(site, test)):
            for text in (name, f"not {name}", f"{name} is None", f"{name} is not None"):
                yield site.replace_node(test, text)


@template(prior=0.5)
def dropped_comparison(site: Site) -> Iterator[Change]:
    """Replace a comparison by its operand: `x = f() == 0` (misused `==`; unwrapping, TBar FP11.3)."""
    for node in site.nodes:
        if isinstance(node, ast.Compare) and not isinstance(site.statement, ast.If | ast.While):
            yield site.replace_node(node, site.get_text(node.left))


@template(prior=0.4)
def loop_for_branch(site: Site) -> Iterator[Change]:
    """Exchange `if` and `while`: repeat a step that is done once, or the reverse (mutation operators, inverted)."""
    statement = site.statement
    if isinstance(statement, ast.If | ast.While) and not (isinstance(statement, ast.If) and statement.orelse):
        start = site.source.get_span(statement)[0]
        old, new = ("if", "while") if isinstance(statement, ast.If) else ("while", "if")
        if site.source.text.startswith(f"{old} ", start) or site.source.text.startswith(f"{old}(", start):
            yield Change(start=start, end=start + len(old), text=new, why=f"`{old}` should be `{new}`")


@template(prior=0.3, precision=0.55)
def returned_predicate(site: Site) -> Iterator[Change]:
    """Replace a constant result by a predicate of a variable, or the variable (TBar FP12; QuixBugs class 8)."""
    statement = site.statement
    if not (isinstance(statement, ast.Return) and isinstance(statement.value, ast.Constant)):
        return
    value = statement.value
    names = site.variables
    if isinstance(value.value, bool):
        for name in names:
            for text in (f"{name} == 0", f"not {name}", f"bool({name})", f"{name} > 0", f"len({name}) == 0"):
                yield site.replace_node(value, text, f"the answer is not always `{value.value}`: `{text}`")
    for name in names:
        yield site.replace_node(value, name)


@template(prior=0.4, precision=0.75)
def returned_value(site: Site) -> Iterator[Change]:
    """Return another variable, alone or in a list (TBar FP12)."""
    statement = site.statement
    if isinstance(statement, ast.Return) and statement.value is not None:
        for name in site.variables:
            yield site.replace_node(statement.value, name)
            yield site.replace_node(statement.value, f"[{name}]")
            yield site.replace_node(statement.value, f"{name}[0]")
            yield site.replace_node(statement.value, f"{name}[-1]")
            yield site.replace_node(statement.value, f"len({name})")
            yield site.replace_node(statement.value, f"not {site.format_operand(statement.value, NOT)}")
    elif isinstance(statement, ast.Return):
        for name in site.variables:
            end = site.source.get_span(statement)[1]
            yield Change(start=end, end=end, text=f" {name}", why=f"`{name}` is not returned")


def _list_conditions(site: Site) -> list[ast.expr]:
    """Return the conditions in the statement itself."""
    statement = site.statement
    found: list[ast.expr] = [statement.test] if isinstance(statement, ast.If | ast.While) else []
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(test for each in node.generators for test in each.ifs)
    return found


def _list_nonconstant_conditions(site: Site) -> list[ast.expr]:
    """Return the conditions without `while True`, which is intended."""
    return [test for test in _list_conditions(site) if not isinstance(test, ast.Constant)]


def _list_attributes(site: Site, test: ast.expr) -> list[str]:
    found = [site.get_text(n) for n in ast.walk(test) if isinstance(n, ast.Attribute)]
    return list(dict.fromkeys(found))


def _iter_checks(site: Site, test: ast.expr) -> Iterator[str]:
    """Yield checks for emptiness and None: first of the condition's own variables, then of others."""
    inside: list[str] = []
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Name):
            inside.append(site.get_text(node))
    names = [
        each for each in dict.fromkeys([*inside, *site.variables]) if each not in site.source.module_names
    ]
    for name in names:
        yield f"{name} is None"
        yield f"not {name}"
