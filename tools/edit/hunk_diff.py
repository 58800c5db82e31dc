"""Conversion of two texts to the lines of a diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.fs.line_diff import compute_opcodes
from tools.edit.edit_model import Line

LARGEST = 40_000
"""Pairs of lines in a table of 10 ms."""


def diff_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Yield the diff of two texts; lines of both are context."""
    for tag, a, b, c, d in compute_opcodes(old, new):
        if tag == "equal":
            yield from (Line(" ", text) for text in old[a:b])
        else:
            yield from (Line("-", text) for text in old[a:b])
            yield from (Line("+", text) for text in new[c:d])


def find_extreme_diffs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Line, ...]]:
    """Yield the extreme diffs that keep the most lines: each line is kept as early, or as late, as possible,
    in the old text or in the new one. Longest common subsequences, by a table; none for texts of which that
    would take long.
    """
    if len(old) * len(new) <= LARGEST:
        for in_new in (False, True):
            yield tuple(_keep_lines_early(old, new, in_new=in_new))
            yield tuple(_keep_lines_early(old[::-1], new[::-1], in_new=in_new))[::-1]


def _keep_lines_early(old: Sequence[str], new: Sequence[str], *, in_new: bool) -> Iterator[Line]:
    most = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            same = old[i] == new[j]
            most[i][j] = most[i + 1][j + 1] + 1 if same else max(most[i + 1][j], most[i][j + 1])
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            yield Line(" ", old[i])
            i, j = i + 1, j + 1
        elif j == len(new) or (i < len(old) and most[i + 1][j] >= most[i][j + 1] + (not in_new)):
            yield Line("-", old[i])
            i += 1
        else:
            yield Line("+", new[j])
            j += 1
