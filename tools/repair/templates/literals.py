"""Templates for what is written down: kinds of strings, displays with an element too few or too many, deletions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.precedence import ATOM, COMPARISON, negated

MOST_ELEMENTS, MOST_OTHERS, MOST_COMPARISONS = 40, 16, 24
_WORD = re.compile(r"[A-Za-z_]\w+")
_PREFIX = re.compile(r"^([A-Za-z]*)(?=['\"])")


@template(prior=0.4, precision=0.9)
def string_kind(site: Site) -> Iterator[Change]:
    """Text for bytes, an escape for what should stand as it is: `'…'`, `b'…'`, `r'…'` (PyTER; TBar FP9)."""
    for node in site.nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            continue
        start = site.source.span(node)[0]
        found = _PREFIX.match(site.text(node))
        if found is None:
            continue
        old = found[1].lower()
        for new in ("b", "") if "\\" not in site.text(node) else ("b", "r", ""):
            if new != old:
                why = f"`{site.text(node)[:40]}` is of the wrong kind: `{new or 'no'}` prefix"
                yield Change(start=start, end=start + len(old), text=new, why=why)


@template(prior=0.35, precision=0.8)
def element_alike(site: Site) -> Iterator[Change]:
    """One more name of the same kind in a display: `(T.Name, T.Number)` lacks `T.String` (plastic surgery)."""
    for node in site.nodes:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or not isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            continue
        held = [site.text(each) for each in node.elts]
        if not 0 < len(held) <= MOST_ELEMENTS or "\n" in held[-1]:
            continue
        end = site.source.span(node.elts[-1])[1]
        for text in [each for each in _alike(site, node.elts[-1]) if each not in held][:MOST_OTHERS]:
            yield Change(start=end, end=end, text=f", {text}", why=f"`{text}` is missing")


@template(prior=0.3, precision=0.75)
def first_element(site: Site) -> Iterator[Change]:
    """What an empty list lacks: texts of the file that share words with what stands beside it (plastic surgery)."""
    for node in site.nodes:
        above = site.source.parents.get(node)
        is_empty = isinstance(node, ast.List | ast.Tuple) and not node.elts
        if not is_empty or not isinstance(above, ast.List | ast.Tuple | ast.Dict | ast.Call):
            continue
        beside = set(_WORD.findall(site.text(above))) | site.hints.missing_names | site.hints.words
        shared = {text: len(beside & set(_WORD.findall(text))) for text in site.source.strings}
        ordered = sorted((-number, text) for text, number in shared.items() if number)
        for _, text in ordered[:MOST_OTHERS]:
            one = f"[{text!r}]" if isinstance(node, ast.List) else f"({text!r},)"
            yield site.replace(node, one, f"`{text}` is missing")


@template(prior=0.4, precision=0.7)
def element_too_many(site: Site) -> Iterator[Change]:
    """An element that should not be in a display (TBar FP15; mutation operators inverted)."""
    for node in site.nodes:
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            if not 1 < len(node.elts) <= MOST_ELEMENTS:
                continue
            spans = [site.source.span(each) for each in node.elts]
            for place, (start, end) in enumerate(spans):
                why = f"`{site.text(node.elts[place])[:40]}` should not be there"
                if place + 1 < len(spans):
                    yield Change(start=start, end=spans[place + 1][0], text="", why=why)
                elif len(spans) > 2 or not isinstance(node, ast.Tuple):
                    yield Change(start=spans[place - 1][1], end=end, text="", why=why)


@template(prior=0.25, precision=0.85)
def tuple_of_one(site: Site) -> Iterator[Change]:
    """`('x')` is no tuple: `('x',)` (a slip of Python's own)."""
    text = site.source.text
    for node in site.nodes:
        if isinstance(node, ast.Constant | ast.Name | ast.Attribute):
            start, end = site.source.span(node)
            before, after = text[:start].rstrip(), text[end : end + 20].lstrip()
            is_call = before[-2:-1].isidentifier() or before[-2:-1] in (")", "]")
            if before.endswith("(") and after.startswith(")") and not is_call:
                yield Change(start=end, end=end, text=",", why=f"`({text[start:end]})` is no tuple")


@template(prior=0.45, precision=0.8)
def equality_for_affix(site: Site) -> Iterator[Change]:
    """Equal, part of, begins with: one taken for another (PraPR, method call replacement)."""
    for node in site.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = site.operand(node.left, ATOM), site.text(node.comparators[0])
            if isinstance(node.ops[0], ast.Eq | ast.In | ast.NotEq | ast.NotIn):
                sign = "not " if isinstance(node.ops[0], ast.NotEq | ast.NotIn) else ""
                for method in ("startswith", "endswith"):
                    yield site.replace(node, f"{sign}{left}.{method}({right})")
        elif _is_method(node, "startswith", "endswith") and isinstance(node.func, ast.Attribute):
            owner, other = site.operand(node.func.value, COMPARISON), site.operand(node.args[0], COMPARISON)
            yield site.replace(node, f"{owner} == {other}")
            yield site.replace(node, f"{other} in {owner}")


@template(prior=0.3, precision=0.75)
def borrowed_comparison(site: Site) -> Iterator[Change]:
    """What other conditions of the file look at, of a variable of this one (ACS: Xiong 2017; plastic surgery)."""
    for test in _truths(site):
        roots = [n.id for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in site.variables]
        here, guarded = site.text(test), site.operand(test, COMPARISON)
        for (name, text), _ in site.source.comparisons.most_common(MOST_COMPARISONS):
            for root in dict.fromkeys(roots):
                known = site.source.names_of(text) - {name}
                check = root + text[len(name) :]
                if check not in here and all(site.known(each) for each in known):
                    why = f"`{check}` is not looked at"
                    yield site.replace(test, f"{guarded} and {check}", why)
                    yield site.replace(test, f"{here} or {check}", why)


@template(prior=0.4, precision=0.75)
def answer_narrowed(site: Site) -> Iterator[Change]:
    """An answer of yes or no that misses a case: `return a` → `return a and not b` (ACS; TBar FP6.3)."""
    value = site.statement.value if isinstance(site.statement, ast.Return | ast.Assign) else None
    if not isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp):
        return
    if isinstance(value, ast.UnaryOp) and not isinstance(value.op, ast.Not):
        return
    guarded, here = site.operand(value, COMPARISON), site.text(value)
    looked_at = [site.text(n) for n in ast.walk(value) if isinstance(n, ast.Attribute | ast.Name)]
    borrowed = [text for text, _ in site.source.conditions.most_common(MOST_OTHERS)]
    for text in dict.fromkeys([*looked_at, *site.variables, *borrowed]):
        if not all(site.known(each) for each in site.source.names_of(text)):
            continue
        for check in (text, negated(text), f"{text} is not None"):
            if check != here:
                why = f"`{check}` is not looked at"
                yield site.replace(value, f"{guarded} and {check}", why)
                yield site.replace(value, f"{check} and {guarded}", why)
                yield site.replace(value, f"{here} or {check}", why)


@template(prior=0.4, precision=0.75)
def deleted_with_care(site: Site) -> Iterator[Change]:
    """`del d[k]`, `d.remove(x)`, `d.pop(k)` where it may be gone already (PyTER, guard)."""
    statement = site.statement
    if isinstance(statement, ast.Delete) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            owner = site.operand(target.value, ATOM)
            text = f"{owner}.pop({site.text(target.slice)}, None)"
            yield site.rewrite(text, f"`{site.text(target)}` may be gone already")
    for node in site.nodes:
        if _is_method(node, "pop"):
            end = site.source.span(node.args[0])[1]
            yield Change(start=end, end=end, text=", None", why="the key may be gone already")


def _is_method(node: ast.expr, *names: str) -> TypeGuard[ast.Call]:
    """A call of one of these methods with one argument."""
    is_one = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    return (
        is_one
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    )


@template(prior=0.3, precision=0.75)
def raised_again(site: Site) -> Iterator[Change]:
    """An exception that is caught and lost: `raise` at the end of its handler (TBar FP4)."""
    if not isinstance(site.statement, ast.Try):
        return
    for handler in site.statement.handlers:
        last = handler.body[-1]
        if not isinstance(last, ast.Raise | ast.Return | ast.Continue | ast.Break):
            inner = Site(source=site.source, statement=last)
            if inner.alone_on_lines:
                yield inner.insert_after("raise", "the exception is lost")


def _truths(site: Site) -> list[ast.expr]:
    """Conditions, and answers of yes or no."""
    statement = site.statement
    found = [statement.test] if isinstance(statement, ast.If | ast.While) else []
    if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Compare | ast.BoolOp):
        found.append(statement.value)
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(test for each in node.generators for test in each.ifs)
    return [each for each in found if not isinstance(each, ast.Constant)]


def _alike(site: Site, node: ast.expr) -> list[str]:
    """Others of the kind: members of the same module or class, classes beside a class, texts that stand beside one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        above = site.source.parents.get(node)
        held = above.elts if isinstance(above, ast.List | ast.Tuple | ast.Set) else [node]
        texts = {
            each.value for each in held if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        return [repr(text) for text in site.package.beside(frozenset(texts))]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        members = site.package.members(node.value.id)
        same = [name for name, _ in members.most_common() if name[:1].isupper() == node.attr[:1].isupper()]
        return [f"{node.value.id}.{name}" for name in same]
    if isinstance(node, ast.Name):
        kind = type(site.source.module_names.get(node.id))
        others = [n for n, by in site.source.module_names.items() if type(by) is kind]
        return [name for name in others if name[:1].isupper() == node.id[:1].isupper()]
    return []
