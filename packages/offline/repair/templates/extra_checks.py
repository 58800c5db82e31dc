"""Templates that add a check to a condition, from the object, its siblings and the file."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from packages.offline.repair.templates.support.precedence import AND, OR, negate_condition
from packages.offline.repair.templates.support.template_site import Change, Site, template

MOST_CHECKS, MOST_ASKED, MOST_QUESTIONS = 16, 150, 40


@template(prior=0.25, precision=0.64)
def joined_inside(site: Site) -> Iterator[Change]:
    """Join a variable's check to an operand of `and` and `or`, or to a result (TBar FP6.3)."""
    for node in list_truth_tests(site):
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for name in [each for each in site.variables if each not in inside][:MOST_CHECKS]:
            yield from _join_checks(site, node, (name, f"not {name}"))


@template(prior=0.25, precision=0.64)
def joined_with_call(site: Site) -> Iterator[Change]:
    """`c` → `c and x.is_y()`, a check made elsewhere in the file on an object with a similar name (ACS: Xiong 2017)."""
    for node in list_truth_tests(site):
        here = site.get_text(node)
        near = list(dict.fromkeys([n.id for n in ast.walk(node) if isinstance(n, ast.Name)] + site.variables))
        fitting = (text for text in iter_borrowed_checks(site, near) if text not in here)
        for text in itertools.islice(fitting, MOST_QUESTIONS):
            yield from _join_checks(site, node, (text, negate_condition(text)))


@template(prior=0.3, precision=0.8)
def attribute_asked_first(site: Site) -> Iterator[Change]:
    """`x.a` → `hasattr(x, "a") and x.a`, `x and x.a` where x may be something else, or None (PyTER, guard)."""
    for node in list_truth_tests(site):
        owned = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
        for each in owned[:4]:
            owner = site.get_text(each.value)
            nothing = (owner, f"{owner} is not None") if site.hints.may_be_none(each.attr) else ()
            for check in (f'hasattr({owner}, "{each.attr}")', *nothing):
                yield site.replace_node(
                    node, f"{check} and {site.format_operand(node, AND)}", f"`{check}` is not asked first"
                )


@template(prior=0.3, precision=0.7)
def branch_narrowed(site: Site) -> Iterator[Change]:
    """`else:` → `elif c:`, where the remaining cases differ (TBar FP6.3; PraPR, pre-condition)."""
    statement, source = site.statement, site.source
    rest = statement.orelse if isinstance(statement, ast.If) else []
    if not isinstance(statement, ast.If) or not rest or site.function is None:
        return
    start = source.get_span(statement.body[-1])[1]
    place = source.text.find("else:", start, source.get_span(rest[0])[0])
    if place < 0 or "#" in source.text[start:place]:
        return
    names = [name for name in site.variables if name not in ("self", "cls")]
    near = {n.id for each in rest for n in ast.walk(each) if isinstance(n, ast.Name)}
    ordered = sorted(names, key=lambda each: each not in near)[:MOST_CHECKS]
    checks = [form.format(each) for each in ordered for form in ("{}", "{} is not None", "not {}")]
    for check in dict.fromkeys(
        [*checks, *itertools.islice(iter_borrowed_checks(site, ordered), MOST_QUESTIONS)]
    ):
        why = f"what `else` does is only for `{check}`"
        yield Change(start=place, end=place + len("else"), text=f"elif {check}", why=why)


def list_truth_tests(site: Site) -> list[ast.expr]:
    """Return expressions tested for truth: conditions, their operands, and operands of `and` and `or` anywhere."""
    statement = site.statement
    found: list[ast.expr] = []
    if isinstance(statement, ast.If | ast.While | ast.Assert):
        found.append(statement.test)
    elif isinstance(statement, ast.Return) and isinstance(statement.value, ast.Compare | ast.Call):
        found.append(statement.value)
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.comprehension):
            found.extend(node.ifs)
        elif isinstance(node, ast.BoolOp):
            found.extend(node.values)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(test for each in node.generators for test in each.ifs)
    return [each for each in dict.fromkeys(found) if not isinstance(each, ast.Constant)]


def iter_borrowed_checks(site: Site, names: Sequence[str]) -> Iterator[str]:
    """Yield the file's checks of these names, most frequent first; then checks of others, renamed to the first."""
    asked = [each for each, _ in site.source.usage.truth_tests.most_common(MOST_ASKED)]
    texts = [text for root, text in asked if root in names]
    texts += [
        re.sub(rf"\b{re.escape(root)}\b(?!['\"])", names[0], text)  # not the `b` of `b'…'`
        for root, text in asked
        if names and root not in names
    ]
    for text in dict.fromkeys(texts):
        if _is_visible(site, text):
            yield text


def _join_checks(site: Site, node: ast.expr, checks: tuple[str, ...]) -> Iterator[Change]:
    for check in checks:
        why = f"`{check}` is not looked at"
        yield site.replace_node(node, f"{site.format_operand(node, AND)} and {check}", why)
        yield site.replace_node(node, f"{site.format_operand(node, OR)} or {check}", why)


def _is_visible(site: Site, text: str) -> bool:
    return all(site.is_known(name) for name in site.source.find_names(text))
