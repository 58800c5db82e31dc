"""Language-independent templates: small changes of operators, operands, names, conditions and statements.

They use the kinds of nodes that tree-sitter's grammars share (`binary_expression`, `argument_list`, a field
called `condition`); a change that a compiler rejects costs one trial. Sources: mutation operators inverted
(PIT, go-mutesting), PraPR (Ghanbari et al. 2019), TBar (Liu et al. 2019).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from packages.offline.repair.languages.function_scope import Change, Rule, Scope
from packages.offline.repair.languages.parsed_source import ParsedFile, get_text
from packages.offline.repair.languages.tree_nodes import (
    ASSIGNMENTS,
    COMPARING,
    LONGEST,
    NUMBERS,
    STATEMENTS,
    format_short,
    get_arguments,
    get_operator,
    get_owner,
    is_callee,
    is_declared,
    is_expression,
    is_member,
    is_statement,
    iter_descendants,
    parenthesize,
)
from packages.offline.repair.languages.tree_value_templates import (
    LOGICAL,
    distance,
    exchanged_values,
    logical_chain,
    text_literal,
)
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node


_BOUNDARIES = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",)}
_COMPARISONS: Mapping[str, tuple[str, ...]] = {
    "<": (">", ">="),
    "<=": (">=", ">"),
    ">": ("<", "<="),
    ">=": ("<=", "<"),
    "==": ("!=", "<=", ">="),
    "!=": ("==",),
    "===": ("!==",),
    "!==": ("===",),
}
_ARITHMETIC: Mapping[str, tuple[str, ...]] = {
    "+": ("-", "*"),
    "-": ("+", "/"),
    "*": ("+", "/", "-"),
    "/": ("*", "%", "-"),
    "%": ("/", "*"),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|", "^"),
    "|": ("&", "^"),
    "^": ("&", "|"),
}
_ASSIGNING: Mapping[str, tuple[str, ...]] = {
    "+=": ("-=", "=", "*="),
    "-=": ("+=", "="),
    "*=": ("+=", "/="),
    "/=": ("*=", "%="),
    "%=": ("/=",),
    "&=": ("|=", "^="),
    "|=": ("&=", "^="),
    "^=": ("&=", "|="),
    "=": ("+=", "-="),
    "++": ("--",),
    "--": ("++",),
}
_NO_ORDER = frozenset({"+", "*", "&", "|", "^", "&&", "||", "==", "!=", "===", "!=="})
# Literal for a missing value.
_NOTHING = {
    "go": "nil",
    "java": "null",
    "javascript": "null",
    "typescript": "null",
    "tsx": "null",
    "c": "NULL",
    "cpp": "nullptr",
}
# Names that replace another one; expressions and conditions of the same function.
MOST_NAMES, MOST_BORROWED = 10, 12


def comparison_boundary(scope: Scope) -> Iterator[Change]:
    yield from _exchange_operators(scope, _BOUNDARIES)


def comparison_operator(scope: Scope) -> Iterator[Change]:
    yield from _exchange_operators(scope, _COMPARISONS)


def arithmetic_operator(scope: Scope) -> Iterator[Change]:
    yield from _exchange_operators(scope, _ARITHMETIC)


def logical_operator(scope: Scope) -> Iterator[Change]:
    yield from _exchange_operators(scope, {sign: (other,) for sign, other in LOGICAL.items()})


def assignment_operator(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        if node.type not in ASSIGNMENTS:
            continue
        for sign in node.children:
            for new in _ASSIGNING.get(sign.type, ()):
                yield scope.create_change(sign, new, f"{sign.type!r} should be {new!r}")


def number(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        if node.type in NUMBERS and re.fullmatch(r"\d{1,9}", get_text(node)):
            value = int(get_text(node))
            for new in (value + 1, value - 1) if value else (1,):
                yield scope.create_change(node, str(new), f"{value} should be {new}")


def off_by_one(scope: Scope) -> Iterator[Change]:
    for node in scope.values:
        if node.type in NUMBERS or _is_named_value(scope.code, node):
            continue
        for sign in "+-":
            yield scope.create_change(
                node, f"{parenthesize(node)} {sign} 1", f"{format_short(node)} should be one {_MORE[sign]}"
            )


def _is_named_value(code: ParsedFile, node: Node) -> bool:
    """Return whether it is a member of an enumeration; of one in another file, by naming convention."""
    written = get_text(node)
    return re.split(r"\.|::", written)[-1] in code.members or bool(_NAMED_VALUE.fullmatch(written))


_NAMED_VALUE = compile_lazily(r"(?:[\w.:]*[.:])?[A-Z]\w*(?:\.[A-Z][A-Z0-9_]*|::[A-Z]\w*)")
_MORE = {"+": "more", "-": "less"}


def dropped_operand(scope: Scope) -> Iterator[Change]:
    for node in scope.binaries:
        for kept in (node.child_by_field_name("left"), node.child_by_field_name("right")):
            if kept is not None and get_text(get_operator(node) or node) not in COMPARING:
                yield scope.create_change(
                    node, get_text(kept), f"{format_short(node)} should be only {format_short(kept)}"
                )


def swapped_operands(scope: Scope) -> Iterator[Change]:
    for node in scope.binaries:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = get_text(get_operator(node) or node)
        if left is not None and right is not None and sign not in _NO_ORDER and sign not in COMPARING:
            new = f"{parenthesize(right)} {sign} {parenthesize(left)}"
            yield scope.create_change(node, new, f"the operands of {format_short(node)} should change places")


def swapped_arguments(scope: Scope) -> Iterator[Change]:
    for call in scope.calls:
        given = get_arguments(call)
        for one, other in pairwise(given):
            if get_text(one) != get_text(other):
                why = f"{format_short(one)} and {format_short(other)} should change places in {format_short(call)}"
                yield scope.exchange_nodes(one, other, why)


def negated_condition(scope: Scope) -> Iterator[Change]:
    for condition in scope.conditions:
        if condition.type == "unary_expression" and get_text(condition).startswith("!"):
            continue
        yield scope.create_change(
            condition, f"!({get_text(condition)})", f"the condition {format_short(condition)} is inverted"
        )


def dropped_sign(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        if node.type == "unary_expression" and get_text(node)[:1] in "!-~" and node.named_children:
            yield scope.create_change(
                node,
                get_text(node.named_children[-1]),
                f"{get_text(node)[:1]!r} does not belong in {format_short(node)}",
            )


def variable(scope: Scope) -> Iterator[Change]:
    names = [name for name in scope.variables if name not in _NOTHING.values()][:MOST_NAMES]
    for node in scope.nodes:
        if node.type != "identifier" or is_callee(node) or is_declared(node):
            continue
        old = get_text(node)
        for name in names:
            if name != old and old in scope.variables:
                yield scope.create_change(node, name, f"{old} should be {name}")


def member(scope: Scope) -> Iterator[Change]:
    """Replace a field or method by another one that the file uses in the same way."""
    used: dict[tuple[str, bool], Counter[str]] = {}
    for node in scope.code.iter_nodes(1, scope.code.text.count("\n") + 1):
        if is_member(node):
            used.setdefault((node.type, is_callee(node)), Counter())[get_text(node)] += 1
    for node in filter(is_member, scope.nodes):
        counted = used[node.type, is_callee(node)]
        for name, _ in sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:MOST_NAMES]:
            if name != get_text(node):
                yield scope.create_change(node, name, f"{get_text(node)} should be {name}")


def callee(scope: Scope) -> Iterator[Change]:
    known = {each.name.rpartition(".")[2] for each in scope.code.functions}
    known |= {get_text(n) for n in scope.nodes if n.type == "identifier" and is_callee(n)}
    for node in scope.nodes:
        if node.type == "identifier" and is_callee(node):
            for name in sorted(known - {get_text(node)})[:MOST_NAMES]:
                yield scope.create_change(node, name, f"{get_text(node)} should be {name}")


def truth(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        if get_text(node) in ("true", "false") and node.child_count == 0:
            new = "false" if get_text(node) == "true" else "true"
            yield scope.create_change(node, new, f"{get_text(node)} should be {new}")


def deleted_statement(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        if (
            node.type in STATEMENTS
            and node.parent is not None
            and "statement" not in node.parent.type.replace("statement_list", "")
        ):
            yield scope.create_change(node, "", f"{format_short(node)} does not belong there")


def moved_statement(scope: Scope) -> Iterator[Change]:
    """Swap two consecutive statements."""
    for block in scope.nodes:
        inside = [n for n in block.children if n.is_named and is_statement(n)]
        for one, other in pairwise(inside):
            yield scope.exchange_nodes(
                one, other, f"{format_short(other)} should come before {format_short(one)}"
            )


def left_loop(scope: Scope) -> Iterator[Change]:
    for node in scope.nodes:
        for old, new in (("break", "continue"), ("continue", "break")):
            if node.type in (f"{old}_statement", f"{old}_expression"):
                yield scope.create_change(node, get_text(node).replace(old, new), f"{old} should be {new}")


def joined_condition(scope: Scope) -> Iterator[Change]:
    """Weaken or strengthen a condition by another one of the same function."""
    every = {get_text(each): each for each in scope.conditions}
    parts = [
        n
        for n in scope.binaries
        if get_text(get_operator(n) or n) in COMPARING and len(get_text(n)) <= LONGEST
    ]
    every.update((get_text(each), each) for each in parts)
    for condition in scope.conditions:
        for other in list(every)[:MOST_BORROWED]:
            if other in get_text(condition):
                continue
            for sign in ("&&", "||"):
                new = (
                    f"{parenthesize(condition)} {sign} ({other})"
                    if sign == "&&"
                    else f"{get_text(condition)} || {other}"
                )
                yield scope.create_change(
                    condition, new, f"the condition {format_short(condition)} lacks {sign} {other}"
                )


def missing_check(scope: Scope) -> Iterator[Change]:
    """Check that an object whose fields a condition reads is not null."""
    nothing = _NOTHING.get(scope.code.language.name)
    if nothing is None:
        return
    for condition in scope.conditions:
        for owner in sorted(
            {get_text(o) for o in map(get_owner, iter_descendants(condition)) if o is not None}
        ):
            said = get_text(condition)
            yield scope.create_change(
                condition,
                f"{owner} != {nothing} && ({said})",
                f"{owner} may be {nothing} in {format_short(condition)}",
            )
            yield scope.create_change(
                condition,
                f"{owner} == {nothing} || {said}",
                f"{owner} may be {nothing} in {format_short(condition)}",
            )


def borrowed_expression(scope: Scope) -> Iterator[Change]:
    """Replace an expression by another one of the same function."""
    found = Counter(get_text(n) for n in scope.nodes if is_expression(n) and len(get_text(n)) <= LONGEST)
    every = [name for name, _ in sorted(found.items(), key=lambda each: (-each[1], each[0]))][:MOST_BORROWED]
    for node in scope.values:
        for other in every:
            if other != get_text(node) and get_text(node) not in other.split():
                yield scope.create_change(node, other, f"{format_short(node)} should be {other}")


def unwrap_call(scope: Scope) -> Iterator[Change]:
    for call in scope.calls:
        for argument in get_arguments(call):
            yield scope.create_change(
                call, get_text(argument), f"{format_short(call)} should be only {format_short(argument)}"
            )


def extend_expression(scope: Scope) -> Iterator[Change]:
    """Add one more variable to a sum, a difference or a product."""
    for node in scope.values:
        for name in scope.variables[:MOST_NAMES]:
            if name != get_text(node):
                for sign in "+-*":
                    yield scope.create_change(
                        node,
                        f"{parenthesize(node)} {sign} {name}",
                        f"{format_short(node)} lacks {sign} {name}",
                    )


RULES = (
    Rule(name="comparison_boundary", prior=0.9, precision=0.95, changes=comparison_boundary),
    Rule(name="comparison_operator", prior=0.8, precision=0.95, changes=comparison_operator),
    Rule(name="number", prior=0.8, precision=0.9, changes=number),
    Rule(name="off_by_one", prior=0.8, precision=0.9, changes=off_by_one),
    Rule(name="variable", prior=0.8, precision=0.85, changes=variable),
    Rule(name="arithmetic_operator", prior=0.7, precision=0.95, changes=arithmetic_operator),
    Rule(name="logical_operator", prior=0.7, precision=0.95, changes=logical_operator),
    Rule(name="logical_chain", prior=0.5, precision=0.95, changes=logical_chain),
    Rule(name="distance", prior=0.4, precision=0.9, changes=distance),
    Rule(name="text_literal", prior=0.4, precision=0.85, changes=text_literal),
    Rule(name="exchanged_values", prior=0.4, precision=0.85, changes=exchanged_values),
    Rule(name="assignment_operator", prior=0.7, precision=0.9, changes=assignment_operator),
    Rule(name="truth", prior=0.7, precision=0.9, changes=truth),
    Rule(name="swapped_operands", prior=0.6, precision=0.95, changes=swapped_operands),
    Rule(name="swapped_arguments", prior=0.6, precision=0.95, changes=swapped_arguments),
    Rule(name="dropped_operand", prior=0.6, precision=0.8, changes=dropped_operand),
    Rule(name="missing_check", prior=0.6, precision=0.85, changes=missing_check),
    Rule(name="negated_condition", prior=0.5, precision=0.85, changes=negated_condition),
    Rule(name="dropped_sign", prior=0.5, precision=0.85, changes=dropped_sign),
    Rule(name="member", prior=0.5, precision=0.85, changes=member),
    Rule(name="left_loop", prior=0.4, precision=0.85, changes=left_loop),
    Rule(name="callee", prior=0.4, precision=0.85, changes=callee),
    Rule(name="moved_statement", prior=0.4, precision=0.8, changes=moved_statement),
    Rule(name="deleted_statement", prior=0.35, precision=0.6, changes=deleted_statement),
    Rule(name="joined_condition", prior=0.35, precision=0.75, changes=joined_condition),
    Rule(name="borrowed_expression", prior=0.3, precision=0.75, changes=borrowed_expression),
    Rule(name="unwrapped", prior=0.3, precision=0.5, changes=unwrap_call),
    Rule(name="extended", prior=0.2, precision=0.75, changes=extend_expression),
)


def _exchange_operators(scope: Scope, table: Mapping[str, Iterable[str]]) -> Iterator[Change]:
    for node in scope.binaries:
        sign = get_operator(node)
        if sign is not None:
            for new in table.get(get_text(sign), ()):
                yield scope.create_change(
                    sign, new, f"{get_text(sign)!r} should be {new!r} in {format_short(node)}"
                )
