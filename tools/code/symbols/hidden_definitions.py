"""Definitions that a construct which a grammar does not understand hides from it, found by their first lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from tools.code.symbols.definition import Definition
from tools.code.symbols.line_heads import LineHead, find_line_heads

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MOST_HEADS, MOST_REREAD = 200, 200_000
"""First lines that are tried in a text with errors, and characters that are parsed anew for them in all: each costs a
parse of the rest."""

_DECLARATION = compile_lazily(r"declaration|definition|specifier|preproc")
"""Types of nodes that declare something. A definition that is read as an expression is not understood."""

_WITHOUT_BRACES = frozenset({"kotlin", "lua", "python", "ruby", "scala"})
"""Languages in which a definition may have no braces."""

_TEXT = compile_lazily(r"comment|string|heredoc|raw_text")
"""Types of nodes whose lines are no code."""


def add_hidden_definitions(
    language: str, text: str, tree: Tree, found: list[Definition], read: Callable[[str], list[Definition]]
) -> list[Definition]:
    """Return the definitions found in a tree with errors, and those that begin in lines which it does not explain.

    The text is read anew from each such line at the margin; what is still hidden is taken as its lines show it.
    read: reads the definitions of a text
    """
    lines = text.split("\n")
    heads = list(_select_hidden(find_line_heads(lines), tree, found))[:MOST_HEADS]
    room = MOST_REREAD
    for head in heads:
        if head.indent or any(each.own_first == head.first for each in found):
            continue
        rest = "\n" * (head.first - 1) + "\n".join(lines[head.first - 1 :])
        if len(rest) > room:
            continue
        room -= len(rest)
        near = read(rest)
        if any(each.own_first == head.first for each in near):
            found = [_end_before(each, head.first, lines) for each in found]
            found += [each for each in near if not any(each.own_first == known.own_first for known in found)]
    known = {each.own_first for each in found}
    package = found[0].package if found else ""
    hidden = [
        each
        for each in heads
        if each.first not in known
        and (language in _WITHOUT_BRACES or any("{" in line for line in lines[each.first - 1 : each.last]))
        and not any(other.name == each.name and other.own_first < each.first <= other.last for other in found)
    ]
    found = [_qualify(each, hidden) for each in found]
    found += [_build_definition(each, language, package) for each in hidden]
    return sorted(found, key=lambda each: (each.own_first, -each.last))


def _select_hidden(heads: Sequence[LineHead], tree: Tree, found: Sequence[Definition]) -> Iterator[LineHead]:
    """Yield the first lines that are those of no definition found, of no declaration and no comment."""
    known = {each.own_first for each in found}
    for head in heads:
        if head.first in known:
            continue
        node = tree.root_node.descendant_for_point_range(*[(head.first - 1, head.column)] * 2)
        if node is None or not (_is_text(node) or _is_understood(node)):
            yield head


def _is_text(node: Node) -> bool:
    around: Node | None = node
    while around is not None:
        if _TEXT.search(around.type):
            return True
        around = around.parent
    return False


def _is_understood(node: Node) -> bool:
    """Return whether what begins with a token was parsed as a declaration without a body, and without an error in it or
    right around it."""
    around = node.parent
    while around is not None and around.parent is not None and around.start_point == node.start_point:
        node, around = around, around.parent
    if node.has_error or around is None or around.is_error or not _DECLARATION.search(node.type):
        return False
    if b"{" in (node.text or b""):
        return False
    return around.parent is None or not around.has_error


def _end_before(known: Definition, head: int, lines: Sequence[str]) -> Definition:
    """Return a function that was read too far with its end before a line at which another begins."""
    if known.kind not in ("function", "method") or not known.own_first < head <= known.last:
        return known
    last = next(number for number in range(head - 1, 0, -1) if lines[number - 1].strip())
    return replace(known, last=max(last, known.own_first), tail="")


def _qualify(known: Definition, hidden: Sequence[LineHead]) -> Definition:
    """Return a definition with the name of the hidden one around it."""
    around = [each for each in hidden if each.first < known.own_first and known.last <= each.last]
    if known.parent or not around or around[-1].kind == "function":
        return known
    kind = "method" if known.kind == "function" else known.kind
    return replace(known, name=f"{around[-1].name}.{known.name}", kind=kind)


def _build_definition(head: LineHead, language: str, package: str) -> Definition:
    return Definition(
        name=head.name,
        kind=head.kind,
        head_first=head.first,
        first=head.first,
        own_first=head.first,
        body_first=min(head.first + 1, head.last) if language == "python" else head.first,
        last=head.last,
        decorators=(),
        lead="",
        tail="",
        language=language,
        package=package,
    )
