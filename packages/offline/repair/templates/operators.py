"""Templates that change operators: comparisons, arithmetic, logic, augmented assignment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from packages.offline.repair.templates.support.precedence import NOT, OR
from packages.offline.repair.templates.support.template_site import Change, Site, template
from sandbox.lazy_pattern import compile_lazily

# Nearest mistakes first: a boundary, then a direction, then equality.
COMPARISONS: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">", ">=", "!=", "=="),
    "<=": ("<", ">=", ">", "==", "!="),
    ">": (">=", "<", "<=", "!=", "=="),
    ">=": (">", "<=", "<", "==", "!="),
    "==": ("!=", "<=", ">=", "<", ">", "in"),
    "!=": ("==", "<", ">", "not in"),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in", "=="),
    "not in": ("in", "!="),
}
_IDENTITY: dict[str, tuple[str, ...]] = {"==": ("is",), "!=": ("is not",), "is": ("==",), "is not": ("!=",)}
# For operands not known to be numbers: the negation, or containment instead of equality.
_EQUALITY: dict[str, tuple[str, ...]] = {"==": ("!=", "in"), "!=": ("==", "not in")}
_COMPARISON_TOKEN = compile_lazily(r"not\s+in\b|is\s+not\b|\bis\b|\bin\b|[<>=!]=|[<>]")
_ARITHMETIC: dict[str, tuple[str, ...]] = {
    "+": ("-", "*"),
    "-": ("+", "*", "//", "/", "%"),
    "*": ("+", "**", "//", "/", "-"),
    "/": ("//", "*", "%"),
    "//": ("/", "%", "*", "-"),
    "%": ("//", "/", "*"),
    "**": ("*",),
    "&": ("|", "^"),
    "|": ("&", "^"),
    "^": ("&", "|"),
    "<<": (">>",),
    ">>": ("<<",),
    "@": ("*",),
}
_ARITHMETIC_TOKEN = compile_lazily(r"\*\*|//|<<|>>|[-+*/%&|^@]")


@template(prior=1.0)
def comparison_operator(site: Site) -> Iterator[Change]:
    """Use another comparison (relational operator replacement: DeMillo 1978; TBar FP11.1; QuixBugs class 3)."""
    for node in site.nodes:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, right in pairwise(operands):
                counted = _is_number_like(left) or _is_number_like(right)
                kinds = COMPARISONS if counted else {**COMPARISONS, **_EQUALITY}
                yield from _replace_operator(site, node, left, right, _COMPARISON_TOKEN, kinds)


@template(prior=0.5, precision=0.6)
def identity_comparison(site: Site) -> Iterator[Change]:
    """Exchange `is` and `==`: for small values both hold, so passing tests are weak evidence (TBar FP11.1)."""
    for node in site.nodes:
        if isinstance(node, ast.Compare):
            for (left, right), operator in zip(
                pairwise([node.left, *node.comparators]), node.ops, strict=True
            ):
                if isinstance(operator, ast.Is | ast.IsNot) or _is_singleton(left) or _is_singleton(right):
                    yield from _replace_operator(site, node, left, right, _COMPARISON_TOKEN, _IDENTITY)


def _is_singleton(node: ast.expr) -> bool:
    """Return whether it looks like a singleton: `None`, the object itself, a class, a constant, a type."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("self", "cls", "__class__") or name.lstrip("_")[:1].isupper()


@template(prior=0.7)
def comparison_boundary(site: Site) -> Iterator[Change]:
    """Use another comparison with a neighbouring constant: `== 0` → `<= 1` (PraPR's conditional boundary)."""
    for node in site.nodes:
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
            continue
        right = node.comparators[0]
        if isinstance(right, ast.Constant) and type(right.value) is int:
            token = _COMPARISON_TOKEN.search(site.source.text, *site.get_span_between(node.left, right))
            for other in COMPARISONS.get(_normalize_operator(token), ())[:5]:
                for value in (right.value + 1, right.value - 1):
                    yield site.replace_node(node, f"{site.get_text(node.left)} {other} {value}")


def _is_number_like(node: ast.expr) -> bool:
    """Return whether it looks like a number: a literal, a length, arithmetic, an element, a name of an index."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("len", "sum", "min", "max", "abs", "int", "ord", "round")
    return isinstance(node, ast.BinOp | ast.Subscript) or (isinstance(node, ast.Name) and len(node.id) < 4)


@template(prior=0.7)
def arithmetic_operator(site: Site) -> Iterator[Change]:
    """Use another arithmetic or bit operator (arithmetic operator replacement: mutmut, cosmic-ray, TBar FP11.2)."""
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            yield from _replace_operator(site, node, node.left, node.right, _ARITHMETIC_TOKEN, _ARITHMETIC)


@template(prior=0.6)
def augmented_assignment(site: Site) -> Iterator[Change]:
    """Exchange `+=`, `-=` and plain `=` (mutmut's augmented assignment, inverted)."""
    statement = site.statement
    if isinstance(statement, ast.AugAssign):
        start, end = site.get_span_between(statement.target, statement.value)
        token = _ARITHMETIC_TOKEN.search(site.source.text, start, end)
        old = _normalize_operator(token)
        for other in (*_ARITHMETIC.get(old, ()), ""):
            why = f"`{old}=` should be `{other}=`"
            yield Change(start=start, end=end, text=f" {other}= ", why=why)
        return
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    if isinstance(statement, ast.Assign) and isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        start, end = site.get_span_between(target, statement.value)
        for other in ("+", "-", "*"):
            yield Change(start=start, end=end, text=f" {other}= ", why=f"`=` should be `{other}=`")


@template(prior=0.8)
def boolean_operator(site: Site) -> Iterator[Change]:
    """Exchange `and` and `or` (logical connector replacement: TBar FP6, mutmut)."""
    for node in site.nodes:
        if isinstance(node, ast.BoolOp):
            other = "or" if isinstance(node.op, ast.And) else "and"
            level = OR if other == "or" else NOT
            operands = [site.format_operand(value, level) for value in node.values]
            yield site.replace_node(node, f" {other} ".join(operands))


@template(prior=0.6, precision=0.8)
def boolean_operand(site: Site) -> Iterator[Change]:
    """Remove one operand of `and`/`or` (TBar FP6.2: remove a conditional sub-expression)."""
    for node in site.nodes:
        if isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.Or) else " and "
            for drop in range(len(node.values)):
                rest = [site.get_text(value) for place, value in enumerate(node.values) if place != drop]
                why = f"`{site.get_text(node.values[drop])}` should not be a condition here"
                yield site.replace_node(node, word.join(rest), why)


@template(prior=0.7)
def negation(site: Site) -> Iterator[Change]:
    """Remove or add a `not` or minus (unary operator insertion and deletion: Offutt 1996)."""
    for node in site.nodes:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            yield site.replace_node(node, site.get_text(node.operand))
        elif _is_condition(site, node) and not (isinstance(node, ast.Compare) and len(node.ops) == 1):
            yield site.replace_node(node, f"not {site.format_operand(node, NOT)}")


def _is_condition(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    if isinstance(above, ast.BoolOp):
        return not isinstance(node, ast.Compare)
    if isinstance(above, ast.If | ast.While | ast.IfExp | ast.Assert):
        return node is above.test
    if isinstance(above, ast.comprehension):
        return node in above.ifs
    return isinstance(above, ast.Return) and isinstance(
        node, ast.Call | ast.Name | ast.Attribute | ast.Compare
    )


def _replace_operator(
    site: Site,
    node: ast.expr,
    left: ast.expr,
    right: ast.expr,
    token: re.Pattern[str],
    table: dict[str, tuple[str, ...]],
) -> Iterator[Change]:
    """Return changes of the whole node with one operator replaced, otherwise as written."""
    start, end = site.source.get_span(node)
    match = token.search(site.source.text, *site.get_span_between(left, right))
    if match is None:
        return
    old = _normalize_operator(match)
    for other in table.get(old, ()):
        text = site.source.text[start : match.start()] + other + site.source.text[match.end() : end]
        fitted = site.replace_node(node, text)
        yield Change(
            start=start,
            end=end,
            text=fitted.text,
            why=f"`{old}` should be `{other}` in `{_shorten_text(text, other)}`",
        )


def _normalize_operator(match: re.Match[str] | None) -> str:
    return " ".join(match[0].split()) if match else ""


def _shorten_text(text: str, other: str) -> str:
    return text if len(text) <= 60 and "\n" not in text else f"… {other} …"
