"""Templates whose ingredients stand elsewhere in the file (plastic surgery, Barr 2014): what its other calls pass on,
what its other conditions look at, how its other functions begin.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.likeness import likeness
from tools.repair.templates.practice import conditions_of, is_place
from tools.repair.templates.precedence import COMPARISON, negated
from tools.repair.templates.source import Function

# A display of more elements is a table; elements that are alike enough to stand in it.
MOST_ELEMENTS, MOST_STRINGS = 60, 24
MOST_KEYWORDS, MOST_CONDITIONS = 10, 30


@template(prior=0.6, precision=0.85)
def forwarded_argument(site: Site) -> Iterator[Change]:
    """A parameter that is not passed on to what is called (TBar FP10.4): `f(x)` → `f(x, strict=strict)`."""
    function = site.function
    if function is None or isinstance(site.statement, Function):
        return
    arguments = function.args
    own = [each.arg for each in (*arguments.args, *arguments.kwonlyargs) if each.arg not in ("self", "cls")]
    rest = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    rest += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    for node in site.nodes:
        if not isinstance(node, ast.Call):
            continue
        given = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
            each.arg for each in node.keywords
        }
        missing = [f"{name}={name}" for name in own if name not in given]
        missing += [text for text in rest if text.strip("*") not in given]
        every = [*map(site.text, node.args), *map(site.text, node.keywords)]
        for text in missing:
            new = f"{site.text(node.func)}({', '.join([*every, text])})"
            yield site.replace(node, new, f"`{text}` is not passed on to `{site.text(node.func)}`")


@template(prior=0.6, precision=0.85)
def borrowed_argument(site: Site) -> Iterator[Change]:
    """A keyword argument that other calls of the same function have is missing (plastic surgery; TBar FP10.4)."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            name, given = _called(node), {each.arg for each in node.keywords}
            every = [*map(site.text, node.args), *map(site.text, node.keywords)]
            for text, _ in site.source.keywords.get(name, Counter()).most_common(MOST_KEYWORDS):
                if text.partition("=")[0] not in given and _visible(site, text.partition("=")[2]):
                    new = f"{site.text(node.func)}({', '.join([*every, text])})"
                    yield site.replace(
                        node, new, f"`{text}` is missing in a call of `{site.text(node.func)}`"
                    )


@template(prior=0.35, precision=0.8)
def borrowed_condition(site: Site) -> Iterator[Change]:
    """A condition of the same class or file is not looked at here (ACS: predicates of the project, Xiong 2017)."""
    for test in conditions_of(site):
        if isinstance(test, ast.Constant):
            continue
        here = site.text(test)
        guarded, either = site.operand(test, COMPARISON), here
        for text, _ in site.source.conditions.most_common(MOST_CONDITIONS):
            if text not in here and _visible(site, text):
                why = f"`{text}` is not looked at"
                yield site.replace(test, f"{guarded} and {negated(text)}", why)
                yield site.replace(test, f"{guarded} and {text}", why)
                yield site.replace(test, f"{either} or {text}", why)


@template(prior=0.3, precision=0.75)
def more_elements(site: Site) -> Iterator[Change]:
    """One more string in a list of strings, one that the project knows: a kind that was forgotten (plastic surgery).

    First those that share a word with what the failures say, then those that stand beside these elsewhere, then by
    likeness.
    """
    told = {part for word in site.hints.words for part in _parts(word)}
    for node in site.nodes:
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and 1 < len(node.elts) <= MOST_ELEMENTS:
            held = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            if len(held) < len(node.elts):
                continue
            beside = site.package.beside(frozenset(held))
            others = [s for s in {*site.source.strings, *site.hints.words, *beside} if s not in held]
            ratio = {
                s: (not told.isdisjoint(_parts(s)), beside[s] > 0, max(likeness(s, h) for h in held))
                for s in others
            }
            end = site.source.span(node.elts[-1])[1]
            for text in sorted(others, key=lambda s: ([-each for each in ratio[s]], s))[:MOST_STRINGS]:
                yield Change(start=end, end=end, text=f", {text!r}", why=f"{text!r} is missing")


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Za-z][a-z]*", name) if len(part) > 2]


@template(prior=1.2, precision=0.9)
def shared_opening(site: Site) -> Iterator[Change]:
    """The statement with which two sibling functions begin, each under its own name, is missing here (TBar FP4)."""
    function = site.function
    if function is None or isinstance(site.statement, Function) or not site.alone_on_lines:
        return
    body = [each for each in function.body if not _is_text(each)]
    if not body or site.statement is not body[0]:
        return
    found: Counter[str] = Counter()
    owner = site.source.enclosing_class(function)
    for other in site.source.functions:
        if other is function or site.source.enclosing_class(other) is not owner:
            continue
        for each in [each for each in other.body if not _is_text(each)][:2]:
            if isinstance(each, ast.Expr | ast.Assign) and (each.end_lineno or 0) == each.lineno:
                found[re.sub(rf"(['\"]){other.name}\1", rf"\1{function.name}\1", site.text(each))] += 1
    present = {site.text(each) for each in function.body}
    for text, number in found.most_common(4):
        if number > 1 and text not in present:
            yield site.insert_before(text, f"`{text}` is missing, with which its siblings begin")


@template(prior=0.25, precision=0.75)
def wrapped_by_module(site: Site) -> Iterator[Change]:
    """`x` → `f(x)`, f imported and called with one argument elsewhere in the file (TBar FP10.2)."""
    imported = {
        n for n, by in site.source.module_names.items() if isinstance(by, ast.ImportFrom | ast.Import)
    }
    counted = [name for name, _ in site.source.calls_of_one.most_common() if name.split(".")[0] in imported][
        :8
    ]
    for node in site.nodes:
        above = site.source.parents.get(node)
        if (
            is_place(node)
            and isinstance(
                above, ast.Call | ast.Assign | ast.Return | ast.Compare | ast.BinOp | ast.keyword | ast.Dict
            )
            and node is not getattr(above, "func", 0)
        ):
            for name in counted:
                yield site.replace(node, f"{name}({site.text(node)})")


@template(prior=4.0, precision=0.98)
def missing_import(site: Site) -> Iterator[Change]:
    """A module of the standard library that is used and not imported (NameError)."""
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
            start = site.source.line_start(first.lineno) if first else 0
            yield Change(
                start=start, end=start, text=f"import {node.id}\n", why=f"`{node.id}` is not imported"
            )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _visible(site: Site, text: str) -> bool:
    """Every name of the expression means something here."""
    return all(site.known(name) for name in site.source.names_of(text))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
