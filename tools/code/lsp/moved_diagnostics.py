"""Diagnostics of two versions of a file compared: by code and by the line that moved, not by their words.

Messages name other lines and renamed names, and so change although the complaint is an old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.lsp.language_server import ERROR, Diagnostic

MOST_COMPARED = 2_000
"""Lines between a file's unchanged head and tail that are compared; the time grows with their square."""

_NUMBER = compile_lazily(r"\d+")


def select_new_diagnostics(
    before: str, after: str, known: Sequence[Diagnostic], now: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """Return the errors of a text that the text before it did not have. Warnings are advice, of which there is much.

    One is old if there was one of its code on the same line, wherever that is now, or on the line that was replaced by
    this one; or one of the same words but for numbers anywhere, since whole functions move.
    """
    lines = _map_lines(before.split("\n"), after.split("\n"))
    old = [each for each in known if each.severity <= ERROR]
    left = [each for each in now if each.severity <= ERROR]
    for describe_old, describe_new in (
        (
            lambda each: (lines.moved.get(each.line), _name_rule(each)),
            lambda each: (each.line, _name_rule(each)),
        ),
        (_describe_words, _describe_words),
        (
            lambda each: (lines.replaced.get(each.line), _name_rule(each)),
            lambda each: (each.line, _name_rule(each)),
        ),
    ):
        counts: Counter[Hashable] = Counter(describe_old(each) for each in old)
        old = list(_subtract(old, [describe_old(each) for each in old], Counter(map(describe_new, left))))
        left = list(_subtract(left, [describe_new(each) for each in left], counts))
    return sorted(left, key=lambda each: each.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineMap:
    """Lines from 1, old → new. moved: unchanged ones; replaced: the one in the place of each, where as many are"""

    moved: dict[int, int]
    replaced: dict[int, int]


def _map_lines(before: Sequence[str], after: Sequence[str]) -> _LineMap:
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    moved = {line: line for line in range(1, head + 1)}
    moved |= {len(before) - each: len(after) - each for each in range(tail)}
    replaced: dict[int, int] = {}
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(old), len(new)) > MOST_COMPARED:
        return _LineMap(moved=moved, replaced=replaced)
    for kind, start, end, to, to_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and end - start == to_end - to):
            chosen = moved if kind == "equal" else replaced
            chosen.update((head + start + each + 1, head + to + each + 1) for each in range(end - start))
    return _LineMap(moved=moved, replaced=replaced)


def _subtract(
    found: Sequence[Diagnostic], keys: Sequence[Hashable], others: Counter[Hashable]
) -> Iterator[Diagnostic]:
    """Yield the diagnostics that have no counterpart among the others."""
    for each, key in zip(found, keys, strict=True):
        if others[key]:
            others[key] -= 1
        else:
            yield each


def _name_rule(each: Diagnostic) -> Hashable:
    return each.code or _describe_words(each)


def _describe_words(each: Diagnostic) -> Hashable:
    return (each.code, _NUMBER.sub("0", each.message))
