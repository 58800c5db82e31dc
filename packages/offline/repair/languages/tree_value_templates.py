"""Language-independent templates for values: texts, values that changed places, distances, chains of conditions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import TYPE_CHECKING

from packages.offline.repair.languages.function_scope import Change, Scope
from packages.offline.repair.languages.parsed_source import get_text
from packages.offline.repair.languages.tree_nodes import (
    LONGEST,
    NUMBERS,
    format_short,
    get_line,
    get_operator,
    is_value,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_TEXTS = frozenset({
    "string", "string_literal", "interpreted_string_literal", "char_literal", "character_literal", "rune_literal",
})  # fmt: skip
_BRACKETS = "()[]{}<>"
LOGICAL = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
_DISTANCES = {
    "javascript": "Math.abs({})",
    "typescript": "Math.abs({})",
    "tsx": "Math.abs({})",
    "java": "Math.abs({})",
    "c": "abs({})",
    "cpp": "abs({})",
    "rust": "({}).abs()",
}
"""The amount of a difference; Go has one for floating-point numbers alone."""

MOST_TEXTS, MOST_EXCHANGED, FARTHEST = 8, 20, 6
"""Other texts of the function for each, values that may have changed places, and the lines between two of them."""


def text_literal(scope: Scope) -> Iterator[Change]:
    """Replace a text or character by one nearly like it, or by another of the function."""
    texts = [node for node in scope.nodes if node.type in _TEXTS and len(get_text(node)) <= LONGEST]
    known = list(dict.fromkeys(map(get_text, texts)))[:MOST_TEXTS]
    for node in texts:
        written = get_text(node)
        quote, inner = written[:1], written[1:-1]
        near = [f"{quote}{each}{quote}" for each in _list_near_texts(inner)]
        for new in dict.fromkeys([*near, *(each for each in known if each[:1] == quote)]):
            if new != written and not (quote == "'" and new == "''" and "char" in node.type):
                yield scope.create_change(node, new, f"{format_short(node)} should be `{new}`")


def _list_near_texts(text: str) -> Iterator[str]:
    if len(text) == 1 and text in _BRACKETS:
        ends = _BRACKETS.index(text) % 2
        yield from (each for each in _BRACKETS if _BRACKETS.index(each) % 2 == ends and each != text)
        yield _BRACKETS[_BRACKETS.index(text) + (-1 if ends else 1)]
    if text[:1] != text[:1].swapcase():
        yield text[:1].swapcase() + text[1:]
    if "\\" not in text and len(text) > 1:
        yield from (text[1:], text[:-1])
    yield "" if text == " " else " "


def exchanged_values(scope: Scope) -> Iterator[Change]:
    """Exchange two different values of one kind, as two results or two indices in the wrong order."""
    values = [(kind, node) for node in scope.nodes if (kind := _find_kind(node))]
    near = (
        (one, other)
        for (kind, one), (same, other) in combinations(values, 2)
        if kind == same
        and get_text(one) != get_text(other)
        and 0 < get_line(other) - get_line(one) <= FARTHEST
    )
    for one, other in islice(near, MOST_EXCHANGED):
        why = f"{format_short(one)} and {format_short(other)} of line {get_line(other)} should change places"
        yield scope.exchange_nodes(one, other, why)


def _find_kind(node: Node) -> str:
    """Return the kind of a value written out: number, text, truth; "" if it is none."""
    if node.type in NUMBERS:
        return "number"
    if node.type in _TEXTS:
        return "text"
    return "truth" if node.child_count == 0 and get_text(node) in ("true", "false") else ""


def distance(scope: Scope) -> Iterator[Change]:
    """Take the amount of a difference."""
    form = _DISTANCES.get(scope.code.language.name)
    for node in scope.binaries if form else ():
        parent = node.parent
        sign = get_text(get_operator(node) or node)
        is_compared = parent is not None and parent.type == "binary_expression"
        if form and sign == "-" and (is_compared or is_value(node) or _is_initial(node)):
            new = form.format(get_text(node))
            yield scope.create_change(node, new, f"{format_short(node)} lacks its amount")


def _is_initial(node: Node) -> bool:
    parent = node.parent
    return parent is not None and "declarator" in parent.type


def logical_chain(scope: Scope) -> Iterator[Change]:
    """Exchange all operators of `a && b && c`, which is one thought."""
    for node in scope.binaries:
        signs = _list_chain(node)
        above = node.parent if node.parent is not None and node.parent.type == node.type else None
        if len(signs) < 2 or (above is not None and _get_sign(above) == _get_sign(node)):
            continue
        new, text, start = LOGICAL[get_text(signs[0])], scope.code.source, node.start_byte
        parts = []
        for sign in signs:
            parts += [text[start : sign.start_byte], new.encode()]
            start = sign.end_byte
        whole = b"".join([*parts, text[start : node.end_byte]]).decode("utf-8", "replace")
        yield scope.create_change(
            node, whole, f"{get_text(signs[0])!r} should be {new!r} in {format_short(node)}"
        )


def _list_chain(node: Node) -> list[Node]:
    """Return the operators of a chain of one logical operator, in order; none of another expression."""
    sign = get_operator(node)
    if sign is None or node.type != "binary_expression" or get_text(sign) not in LOGICAL:
        return []
    sides = [node.child_by_field_name(name) for name in ("left", "right")]
    before, after = (
        _list_chain(each) if each is not None and _get_sign(each) == get_text(sign) else [] for each in sides
    )
    return [*before, sign, *after]


def _get_sign(node: Node) -> str:
    sign = get_operator(node)
    return get_text(sign) if sign is not None else ""
