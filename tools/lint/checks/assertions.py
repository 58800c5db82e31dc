"""Assertions of tests, and those that a new version of a test file changes or weakens.

A check is weakened if no check of the new version contains all facts of the old one: its literals, comparisons and
assertion methods. Names do not count, so that a rename is no weakening, and a stricter check is none either.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

_ASSERTING = re.compile(r"assert|fail|expect|raises$|warns$", re.IGNORECASE)
_EXPECTED_NAME = re.compile(r"expect|want|should|golden|^[A-Z][A-Z0-9_]*$", re.IGNORECASE)
"""Names of variables whose literals are expected values of a test."""

_LINE_FACTS = re.compile(
    r"""("[^"]*"|'[^']*'|`[^`]*`|\b\d[\w.]*|[=!<>]=+|[<>]|\|\||&&|\b(?:true|false|null|nil|None|True|False)\b"""
    r"""|\b(?:to[A-Z]\w+|assert\w*|fail\w*)\b)"""
)


@dataclass(slots=True, kw_only=True)
class Check:
    """One assertion of a test. facts: its content apart from names; owner: the qualified name of its function"""

    owner: str
    line: int
    text: str
    facts: Counter[str] = field(default_factory=Counter)

    def demands_no_less_than(self, other: Check) -> bool:
        """Return whether this check includes all facts of the other one, without a new alternative (`or`)."""
        escapes = self.facts["Or"] > other.facts["Or"] or self.facts["||"] > other.facts["||"]
        return other.facts <= self.facts and not escapes


def find_changed_checks(before: str, after: str) -> Iterator[tuple[Check, Check]] | None:
    """Return (old, new) of each check of a Python test file that was changed and not only made stricter.

    A check without a counterpart is not included. None if a version is not valid Python.
    """
    try:
        old, new = parse_python_checks(before), parse_python_checks(after)
    except (SyntaxError, ValueError, RecursionError):  # not Python, or not of this version
        return None
    return _pair_changed_checks(old, new)


def parse_python_checks(source: str) -> list[Check]:
    """Return the checks of a Python file, in their order. Raises SyntaxError."""
    lines = source.splitlines()
    found: list[Check] = []

    def add(owner: str, node: ast.stmt | ast.expr, *parts: ast.AST) -> None:
        text = lines[node.lineno - 1].strip() if node.lineno <= len(lines) else ""
        facts = Counter(fact for part in parts for fact in _extract_facts(part))
        found.append(Check(owner=owner, line=node.lineno, text=text, facts=facts))

    def visit(node: ast.AST, owner: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = owner
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    inner = f"{owner}.{child.name}" if owner else child.name
                    for decorator in child.decorator_list:
                        if (
                            isinstance(decorator, ast.Call)
                            and _find_last_name(decorator.func) == "parametrize"
                        ):
                            add(inner, decorator, *decorator.args[1:])
                case ast.Assert():
                    add(owner, child, child.test)
                case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
                    if _ASSERTING.search(_find_last_name(call.func)):
                        add(owner, child, call)
                case ast.With() | ast.AsyncWith():
                    for item in child.items:
                        if isinstance(item.context_expr, ast.Call) and _ASSERTING.search(
                            _find_last_name(item.context_expr.func)
                        ):
                            add(owner, item.context_expr, item.context_expr)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if _EXPECTED_NAME.search(name):
                    add(owner, child, value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if (
                    _EXPECTED_NAME.search(name)
                ):
                    add(owner, child, value)
            visit(child, inner)

    visit(ast.parse(source), "")
    return found


def extract_line_facts(line: str) -> Counter[str]:
    """Return the facts of a line of any language apart from names: its literals, operators and assertion methods."""
    return Counter(_LINE_FACTS.findall(line))


def demands_less(removed: str, added: list[str]) -> bool:
    """Return whether none of the added lines includes all facts of the removed one."""
    facts = extract_line_facts(removed)
    return not any(facts <= (new := extract_line_facts(line)) and new["||"] <= facts["||"] for line in added)


def _pair_changed_checks(old: list[Check], new: list[Check]) -> Iterator[tuple[Check, Check]]:
    """Pair the remaining checks after removing equal ones, first those of the same function."""
    left, rest = list(old), list(new)
    for same_owner in (True, False):
        for check in list(left):
            twin = next(
                (
                    each
                    for each in rest
                    if each.facts == check.facts and (each.owner == check.owner or not same_owner)
                ),
                None,
            )
            if twin is not None:
                left.remove(check)
                rest.remove(twin)
    for check in left:
        there = [each for each in rest if each.owner == check.owner]
        stronger = next((each for each in there if each.demands_no_less_than(check)), None)
        if stronger is not None:
            rest.remove(stronger)
        elif there:
            nearest = max(there, key=lambda each: (each.facts & check.facts).total())
            rest.remove(nearest)
            yield check, nearest


def _extract_facts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Constant():
                yield f"{type(each.value).__name__} {each.value!r}"
            case ast.Compare():
                yield from (type(operator).__name__ for operator in each.ops)
            case ast.BoolOp() | ast.UnaryOp():
                yield type(each.op).__name__
            case ast.Call() if _ASSERTING.search(name := _find_last_name(each.func)):
                yield name


def _find_last_name(node: ast.expr) -> str:
    """Return the last name of a dotted one."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
