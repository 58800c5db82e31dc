"""Syntax check of languages with a tree-sitter grammar.

A grammar knows less than a compiler: it reports macros, dialects and the newest syntax as errors. So an error is
reported only if the file parsed without errors before the change; in other files, and in languages that have macros
or change fast, brackets or quotes must also have become unbalanced. Balance is counted on the tokens of the tree,
which exist in unparsed parts as well.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from tools.code.languages import Language, encode_text, measure_common_ends, parse_text
from tools.code.syntax.syntax_problem import Problem

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

LOOSE = frozenset({"c", "cpp", "csharp", "css", "html", "jsonc", "tsx", "typescript"})
"""Languages where over one valid change in 200 adds syntax unknown to the grammar (real histories, 2010-2025)."""

_CLOSES = {")": "(", "]": "[", "}": "{"}
_QUOTES = frozenset({'"', "'", "`", '"""', "'''"})
_PREFIX = f"{string.ascii_letters}{string.digits}$@"
_OTHER_APOSTROPHES = frozenset({"c", "cpp", "rust"})
"""Languages in which a single ' may be no quote: a lifetime, a digit separator, a word of an `#error`."""

_IF = frozenset({"#if", "#ifdef", "#ifndef"})
_END = "#endif"
_ELSE = frozenset({"#else", "#elif", "#elifdef", "#elifndef"})

_UNMARKED = bytes(set(range(256)) - set(b"()[]{}\"'`/*\\#$@<>!-"))
"""Characters that neither open nor close a bracket, a string or a comment."""


def find_tree_problems(languages: Sequence[Language], before: str | None, after: str) -> list[Problem]:
    """Return errors that a change introduced; for a file of several possible languages, only if all report errors."""
    found: list[Problem] = []
    for language in languages:
        found = _find_problems(language, before, after)
        if not found:
            return []
    return found


def find_parse_errors(language: Language, source: str) -> list[Problem]:
    """Return the nodes that the grammar cannot parse."""
    return list(_iter_errors(parse_text(language, source)))


def find_unbalanced_marks(language: Language, before: str | None, after: str) -> list[Problem]:
    """Return the bracket or quotes that a change left unbalanced, by the tokens of the tree and by plain count.

    Two witnesses, since a construct that is unknown to the grammar may hide brackets from it, or show it others. The
    count alone proves nothing either: it includes those in strings and comments.
    """
    uneven = _find_uneven_marks(before or "", after)
    if not uneven:
        return []
    tree = parse_text(language, after, before=before)
    if not tree.root_node.has_error:
        return []
    tokens = _collect_tokens(language, tree)
    old = _collect_tokens(language, parse_text(language, before)) if before is not None else []
    unmatched = _find_unmatched(tokens)
    if unmatched and unmatched.message[1] in uneven and not _find_unmatched(old):
        return [unmatched]
    odd = _find_odd_quotes(tokens) - _find_odd_quotes(old)
    if any(quote[0] in uneven for quote in odd):
        return list(_filter_changed_lines(_iter_errors(tree), before, after))
    return []


def _find_uneven_marks(before: str, after: str) -> set[str]:
    """Return the brackets that a change added or removed without their counterparts, and the quotes, by count."""
    old, new = encode_text(before), encode_text(after)
    start, tail = measure_common_ends(old, new)
    before = old[start : len(old) - tail].decode("utf-8", "replace")
    after = new[start : len(new) - tail].decode("utf-8", "replace")
    found: set[str] = set()
    for closing, opening in _CLOSES.items():
        if after.count(opening) - after.count(closing) != before.count(opening) - before.count(closing):
            found |= {opening, closing}
    return found | {quote for quote in "\"'`" if (after.count(quote) - before.count(quote)) % 2}


def _find_problems(language: Language, before: str | None, after: str) -> list[Problem]:
    if language.name in LOOSE and before is not None and _has_same_marks(before, after):
        return []
    tree = parse_text(language, after, before=before)
    if not tree.root_node.has_error:
        return []
    old = parse_text(language, before) if before is not None else None
    understood = old is None or not old.root_node.has_error
    tokens = _collect_tokens(language, tree)
    unmatched = _find_unmatched(tokens)
    if unmatched and (old is None or not _find_unmatched(_collect_tokens(language, old))):
        return [
            unmatched,
            *(
                each
                for each in _filter_changed_lines(_iter_errors(tree), before, after)
                if each.line != unmatched.line
            ),
        ]
    if understood and language.name not in LOOSE:
        return list(_iter_errors(tree))
    odd = _find_odd_quotes(tokens)
    if odd and (old is None or not odd & _find_odd_quotes(_collect_tokens(language, old))):
        return list(_filter_changed_lines(_iter_errors(tree), before, after))
    return []


def _has_same_marks(before: str, after: str) -> bool:
    """Return whether the changed lines kept their brackets, quotes and comment starts, in the same order."""
    old, new = encode_text(before), encode_text(after)
    start, tail = measure_common_ends(old, new)
    first = old.rfind(b"\n", 0, start) + 1
    last = old.find(b"\n", len(old) - tail)
    rest = len(old) - last if last >= 0 else 0
    return old[first : len(old) - rest].translate(None, _UNMARKED) == new[first : len(new) - rest].translate(
        None, _UNMARKED
    )


def _iter_errors(tree: Tree) -> Iterator[Problem]:
    """Yield errors without recursion: a tree full of errors can be thousands of nodes deep."""
    left: list[Node] = [tree.root_node]
    lines: set[int] = set()
    while left:
        node = left.pop()
        if not node.has_error:
            continue
        if not (node.is_missing or node.is_error):
            left.extend(reversed(node.children))
            continue
        line = node.start_point[0] + 1
        if line not in lines:
            lines.add(line)
            yield Problem(
                line=line, message=f"{node.type!r} is missing" if node.is_missing else "cannot be parsed"
            )


def _filter_changed_lines(problems: Iterator[Problem], before: str | None, after: str) -> list[Problem]:
    """Return problems in changed lines: a missing bracket causes errors all over the file."""
    new = encode_text(after)
    start, tail = measure_common_ends(encode_text(before or ""), new)
    first, last = new.count(b"\n", 0, start) + 1, new.count(b"\n", 0, len(new) - tail) + 1
    return [each for each in problems if first <= each.line <= last]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    line: int


def _collect_tokens(language: Language, tree: Tree) -> list[_Token]:
    """Return brackets and quotes in text order.

    Only the first branch of a conditional compilation counts: each may open the same bracket.
    """
    ignored = "'" if language.name in _OTHER_APOSTROPHES else ""
    found: list[_Token] = []
    skipping = 0
    for node in _iter_leaves(tree):
        kind = node.type
        if kind == "preproc_directive":  # a directive in a place where the grammar does not expect one
            kind = (node.text or b"").decode("utf-8", "replace").replace(" ", "")
        kind = _name_mark(kind)
        if not kind or kind == ignored:
            continue
        if skipping:
            skipping += (kind in _IF) - (kind == _END)
        elif kind in _ELSE:
            skipping = 1
        elif kind not in _IF and kind != _END and node.end_byte > node.start_byte:
            found.append(_Token(kind, node.start_point[0] + 1))
    return found


def _iter_leaves(tree: Tree) -> Iterator[Node]:
    cursor = tree.walk()  # far faster than a query for trees full of errors
    while True:
        if cursor.goto_first_child():
            continue
        if cursor.node is not None:
            yield cursor.node
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


@cache
def _name_mark(kind: str) -> str:
    """Return a token's kind if it counts, else ""; a quote that opens a string has letters before it: `R"`, `u8'`."""
    bare = kind.lstrip(_PREFIX)
    if bare in _QUOTES:
        return bare
    return kind if not set(kind).isdisjoint("()[]{}") or kind in _IF | _ELSE | {_END} else ""


def _find_unmatched(tokens: Sequence[_Token]) -> Problem | None:
    """Return the first unbalanced bracket, None if all match."""
    still_open: list[tuple[str, int]] = []
    for token in tokens:
        for character in token.kind:
            if character in "([{":
                still_open.append((character, token.line))
            elif character in _CLOSES:
                if not still_open:
                    return Problem(line=token.line, message=f"{character!r} closes nothing")
                opening, line = still_open.pop()
                if opening != _CLOSES[character]:
                    return Problem(
                        line=line,
                        message=f"{opening!r} is not closed before {character!r} in line {token.line}",
                    )
    if still_open:
        opening, line = still_open[-1]
        return Problem(line=line, message=f"{opening!r} is never closed")
    return None


def _find_odd_quotes(tokens: Sequence[_Token]) -> set[str]:
    """Return the kinds of quotes that occur an odd number of times."""
    counted = Counter(token.kind for token in tokens if token.kind in _QUOTES)
    return {kind for kind, count in counted.items() if count % 2}
