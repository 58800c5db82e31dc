"""Line diff that stays fast on texts of many thousands of lines.

difflib compares every pair of equal lines, and files are full of empty lines and braces: it takes 15 seconds
for 2,000 lines of which each fourth has changed, and grows with the cube. So long texts are first split at
lines that are unique in both (Bram Cohen's patience diff); the parts between are short enough for difflib,
which finds more matches there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

Opcode = tuple[Literal["equal", "replace", "delete", "insert"], int, int, int, int]
"""Opcode as in difflib: tag, start and end in the old text, start and end in the new one."""

SMALL = 250_000
"""Line pairs that difflib compares in a quarter of a second, even if all lines are equal."""

DEPTH = 40
"""Levels of recursive splits; a hundred thousand lines take three or four."""


def compute_opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    """Yield opcodes that turn the old lines into the new ones, "equal" runs included."""
    i = j = 0
    for a, b, length in _find_matching_blocks(old, new):
        if a > i and b > j:
            yield "replace", i, a, j, b
        elif a > i:
            yield "delete", i, a, j, b
        elif b > j:
            yield "insert", i, a, j, b
        if length:
            yield "equal", a, a + length, b, b + length
        i, j = a + length, b + length


def _find_matching_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of equal lines (start in old, start in new, length) in order, then an empty run at the end."""
    start_old = start_new = length = 0
    for i, j in sorted(_pair_equal_lines(old, new)):
        if length and (i, j) == (start_old + length, start_new + length):
            length += 1
            continue
        if length:
            yield start_old, start_new, length
        start_old, start_new, length = i, j, 1
    if length:
        yield start_old, start_new, length
    yield len(old), len(new), 0


def _pair_equal_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield index pairs of equal lines, unordered."""
    waiting = [(0, len(old), 0, len(new), 0)]
    while waiting:
        a, b, c, d, depth = waiting.pop()
        if (b - a) * (d - c) > SMALL:
            while a < b and c < d and old[a] == new[c]:
                yield a, c
                a, c = a + 1, c + 1
            while a < b and c < d and old[b - 1] == new[d - 1]:
                b, d = b - 1, d - 1
                yield b, d
        if a == b or c == d:
            continue
        if (b - a) * (d - c) <= SMALL:
            yield from ((a + i, c + j) for i, j in _match_with_difflib(old[a:b], new[c:d]))
        elif depth < DEPTH and (cuts := _match_unique_lines(old[a:b], new[c:d])):
            yield from ((a + i, c + j) for i, j in cuts)
            for (i, j), (k, m) in zip([(-1, -1), *cuts], [*cuts, (b - a, d - c)], strict=True):
                waiting.append((a + i + 1, a + k, c + j + 1, c + m, depth + 1))


def _match_with_difflib(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    from difflib import SequenceMatcher

    for a, b, length in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        yield from ((a + i, b + i) for i in range(length))


def _match_unique_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest sequence of lines unique in both texts, in the same order in both (patience sorting)."""
    counts, others = Counter(old), Counter(new)
    place = {line: j for j, line in enumerate(new) if others[line] == 1 == counts[line]}
    ends: list[int] = []  # smallest last index in `new` of a sequence of each length
    chain: list[tuple[int, int, int]] = []  # (index in old, index in new, position here of the predecessor)
    tops: list[int] = []
    for i, line in enumerate(old):
        if (j := place.get(line)) is None:
            continue
        length = bisect_left(ends, j)
        ends[length : length + 1] = [j]
        tops[length : length + 1] = [len(chain)]
        chain.append((i, j, tops[length - 1] if length else -1))
    row, at = [], tops[-1] if tops else -1
    while at >= 0:
        i, j, at = chain[at]
        row.append((i, j))
    return row[::-1]
