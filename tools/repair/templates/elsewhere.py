"""Templates that bring in a whole statement: what the file does elsewhere and does not do here, what a sibling
statement suggests, what has to come before something is used.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.joining import questions
from tools.repair.templates.likeness import likeness
from tools.repair.templates.precedence import negated
from tools.repair.templates.source import Function

MOST_STATEMENTS, MOST_GUARDS, MOST_SIBLINGS, MOST_RESULTS, MOST_QUESTIONS = 40, 30, 12, 6, 16
_CONVERSIONS = ("list", "tuple", "str", "int", "float", "set", "dict", "iter", "bool", "sorted")
_METHODS = ("strip", "lower", "copy", "upper", "rstrip", "lstrip")


@template(prior=0.15, precision=0.54)
def statement_of_others(site: Site) -> Iterator[Change]:
    """A statement that other functions of the file have and this one lacks (GenProg: Weimer 2009; plastic surgery).

    First those that read the most of what is read here, and of the same class.
    """
    if not _takes_lines(site):
        return
    function = site.function
    assert function is not None
    owner = site.source.enclosing_class(function)
    present = {site.text(n) for n in site.source.nodes_in(function) if isinstance(n, ast.stmt)}
    local, here = set(site.variables), {n.id for n in site.nodes if isinstance(n, ast.Name)}
    found: list[tuple[float, str]] = []
    for node, text in site.source.ways.plain_statements:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        known = all(each in local or site.known(each) for each in names)
        if text in present or not known or not names & local:
            continue
        weight = len(names & here) / len(names) + (site.source.enclosing_class(node) is owner)
        found.append((-weight, text))
    for _, text in sorted(found)[:MOST_STATEMENTS]:
        yield from _beside(site, text)


@template(prior=0.2, precision=0.6)
def filled_if_missing(site: Site) -> Iterator[Change]:
    """`if x is None: x = y` before x is used (PyTER, None guard; TBar FP2)."""
    if not _takes_lines(site):
        return
    places = [site.text(n) for n in site.nodes if _is_local_place(site, n)]
    for place in list(dict.fromkeys(places))[:3]:
        names = [each for each in site.variables if each not in (place, "self", "cls")][:MOST_RESULTS]
        for value in ("[]", "{}", '""', "0", "()", "set()", *names):
            for check in (f"{place} is None", f"not {place}"):
                why = f"`{place}` may be missing: `{value}` is meant then"
                yield site.insert_before(f"if {check}:\n    {place} = {value}", why)
        receiver = place.partition(".")[0]
        kept = [
            f"{receiver}.{name}" for name, _ in site.source.members.get(receiver, Counter()).most_common(12)
        ]
        for value in [*names, *(each for each in kept if each != place)]:
            yield site.insert_before(
                f"{place} = {place} or {value}", f"`{place}` may be missing: `{value}` is meant then"
            )


@template(prior=0.18, precision=0.54)
def returned_at_end(site: Site) -> Iterator[Change]:
    """The end of a branch that gives no answer, where the function gives one elsewhere (TBar FP12)."""
    function, block = site.function, site.source.block(site.statement)
    if function is None or not _takes_lines(site) or site.statement is not block[-1]:
        return
    if isinstance(site.statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return
    given = [
        n for n in site.source.nodes_in(function) if isinstance(n, ast.Return) and n.end_lineno == n.lineno
    ]
    stored = [
        n.id for n in ast.walk(site.statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    texts = [*(f"return {name}" for name in stored), *map(site.text, given)]
    texts += [f"return {name}" for name in site.variables[:MOST_RESULTS]]
    for text in dict.fromkeys([*texts, "return", "break", "continue"]):
        if text in ("break", "continue") and not any(
            isinstance(e, ast.For | ast.While) for e in _above(site)
        ):
            continue
        yield site.insert_after(text, f"`{text}` is missing")


@template(prior=2.0, precision=0.85)
def set_beforehand(site: Site) -> Iterator[Change]:
    """A local variable that only some ways through the function set (UnboundLocalError): its empty value before."""
    if not _takes_lines(site) or not site.hints.errors & {"UnboundLocalError", "NameError"}:
        return
    body = [each for each in site.function.body if not _is_text(each)] if site.function else []
    names = [n.id for n in site.nodes if isinstance(n, ast.Name) and n.id in site.variables]
    first = Site(source=site.source, statement=body[0]) if body else site
    for name in dict.fromkeys(names):
        for value in ("None", "[]", "{}", "0", '""', "False", "set()"):
            yield first.insert_before(
                f"{name} = {value}", f"`{name}` is not always set: `{value}` is its first value"
            )


@template(prior=0.3, precision=0.7)
def sibling_statement(site: Site) -> Iterator[Change]:
    """`new.a = self.a` stands here, `new.b = self.b` is missing (plastic surgery; TBar FP4)."""
    if not _takes_lines(site) or not isinstance(site.statement, ast.Assign | ast.Expr):
        return
    text = site.text(site.statement)
    if "\n" in text:
        return
    inside = Counter(n.attr for n in ast.walk(site.statement) if isinstance(n, ast.Attribute))
    block = {site.text(each) for each in site.source.block(site.statement)}
    # What a sibling names as often as this one does: twice in `a.x = b.x`, once in `a.x = 0`.
    for name, _ in inside.most_common(2):
        owners = {
            n.value.id
            for n in ast.walk(site.statement)
            if isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.value, ast.Name)
        }
        others = Counter[str]()
        for owner in owners:
            others.update(site.source.members.get(owner, Counter()))
        kept = [n for n in others if n in site.source.assigned_attributes and n != name]
        for other in sorted(kept, key=lambda each: (-likeness(name, each), each))[:MOST_SIBLINGS]:
            copy = re.sub(rf"\b{re.escape(name)}\b", other, text)
            if copy not in block:
                yield site.insert_after(copy, f"`{copy}` is missing")


@template(prior=1.0, precision=0.85)
def parameter_kept(site: Site) -> Iterator[Change]:
    """A parameter that the object does not keep: `self.x = x` is missing (PyTER; AttributeError)."""
    function = site.function
    if function is None or not _takes_lines(site) or function.name not in ("__init__", "__new__"):
        return
    body = [each for each in function.body if not _is_text(each)]
    arguments = function.args
    if site.statement not in (body[0], body[-1]) or not arguments.args:
        return
    receiver = arguments.args[0].arg
    stored = {
        n.attr for n in site.source.nodes_in(function)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }  # fmt: skip
    for each in (*arguments.args[1:], *arguments.kwonlyargs):
        if each.arg not in stored:
            text = f"{receiver}.{each.arg} = {each.arg}"
            yield from _beside(site, text)


@template(prior=0.15, precision=0.54)
def converted_before(site: Site) -> Iterator[Change]:
    """`x = list(x)`, `x = x.strip()` before it is used: taken as it came (PyTER, conversion; TBar FP4)."""
    if not _takes_lines(site):
        return
    read = [n.id for n in site.nodes if isinstance(n, ast.Name) and n.id in site.variables]
    usual = [name for name, _ in site.source.calls_of_one.most_common(MOST_RESULTS)]
    for name in list(dict.fromkeys(read))[:4]:
        texts = [
            f"{name} = {f}({name})"
            for f in dict.fromkeys([*_CONVERSIONS, *usual])
            if site.known(f.split(".")[0])
        ]
        texts += [f"{name} = {name}.{method}()" for method in _METHODS]
        for text in texts:
            yield site.insert_before(text, f"`{text}` is missing")


@template(prior=0.5, precision=0.8)
def missing_super_call(site: Site) -> Iterator[Change]:
    """A method that hides the one of its base class and does not call it (TBar FP4; PraPR, method call)."""
    function = site.function
    owner = site.source.enclosing_class(site.statement)
    if function is None or owner is None or not owner.bases or not _takes_lines(site):
        return
    body = [each for each in function.body if not _is_text(each)]
    if site.statement not in (*body[:1], *body[-1:]) or "super()" in site.text(function):
        return
    arguments = function.args
    given = [each.arg for each in arguments.args[1:]]
    given += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    given += [f"{each.arg}={each.arg}" for each in arguments.kwonlyargs]
    given += [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    for passed in dict.fromkeys([", ".join(given), ""]):
        text = f"super().{function.name}({passed})"
        if site.statement is body[0]:
            yield site.insert_before(text, f"`{text}` is missing")
        if not isinstance(site.statement, ast.Return | ast.Raise):
            yield site.insert_after(text, f"`{text}` is missing")


@template(prior=0.2, precision=0.54)
def guard_of_others(site: Site) -> Iterator[Change]:
    """`if c: return x` with which other functions of the file leave early is missing here (TBar FP2; Barr 2014)."""
    if not _takes_lines(site):
        return
    in_loop = any(isinstance(each, ast.For | ast.While) for each in _above(site))
    for (test, done), _ in site.source.ways.guards.most_common(MOST_GUARDS):
        jumps = done in ("continue", "break")
        read = site.source.names_of(test)
        if (jumps and not in_loop) or not all(site.known(name) for name in read | _names(done)):
            continue
        yield site.insert_before(f"if {test}:\n    {done}", f"`{test}` is not handled: `{done}` is missing")


@template(prior=0.18, precision=0.54)
def left_early(site: Site) -> Iterator[Change]:
    """A case for which the function has its answer already: `if not x: return y` (TBar FP2)."""
    function = site.function
    if function is None or not _takes_lines(site):
        return
    results = Counter(
        site.text(n) for n in site.source.nodes_in(function)
        if isinstance(n, ast.Return) and n.value is not None and n.end_lineno == n.lineno
    )  # fmt: skip
    results.update(["return", "return NotImplemented", "return self"])
    if any(isinstance(each, ast.For | ast.While) for each in _above(site)):
        results.update(["continue", "break"])
    places = [site.text(n) for n in site.nodes if _is_local_place(site, n)]
    names = [n.id for n in site.nodes if isinstance(n, ast.Name) and n.id in site.variables]
    checks = [
        f(each)
        for each in list(dict.fromkeys(places))[:4]
        for f in ("{} is None".format, "not {}".format, str)
    ]
    asked = list(itertools.islice(questions(site, list(dict.fromkeys(names))), MOST_QUESTIONS))
    for check in dict.fromkeys([*checks, *asked, *map(negated, asked)]):
        for result, _ in results.most_common(MOST_RESULTS):
            if result != site.text(site.statement) and all(site.known(n) for n in _names(result)):
                why = f"`{check}` is not handled: `{result}` is missing"
                yield site.insert_before(f"if {check}:\n    {result}", why)


def _beside(site: Site, text: str) -> Iterator[Change]:
    yield site.insert_before(text, f"`{text}` is missing")
    if not isinstance(site.statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        yield site.insert_after(text, f"`{text}` is missing")


def _takes_lines(site: Site) -> bool:
    """Lines may be put beside the statement: it is inside a function and alone on its own."""
    inside = site.function is not None and not isinstance(site.statement, Function)
    return inside and site.alone_on_lines


def _above(site: Site) -> Iterator[ast.AST]:
    node = site.source.parents.get(site.statement)
    while node is not None and not isinstance(node, Function):
        yield node
        node = site.source.parents.get(node)


def _is_local_place(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and node.id in site.variables
    is_own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return is_own and isinstance(getattr(node, "ctx", None), ast.Load) and not _is_callee(site, node)


def _is_callee(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    return isinstance(above, ast.Call) and node is above.func


def _names(statement: str) -> frozenset[str]:
    """The names that a jump reads."""
    return frozenset(node.id for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Name))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
