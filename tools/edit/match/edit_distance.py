"""Alternative alignments of wanted lines with a part of a file at equal edit distance, to detect ambiguous
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

LARGEST = 40_000
"""Pairs of lines in a table of about 10 ms."""

Alike = Callable[[int, int], bool]
"""Whether a wanted line may be a reworded line of the file; both by number."""


def find_extreme_alignments(
    wanted: Sequence[str], there: Sequence[str], alike: Alike
) -> list[tuple[tuple[int, int], ...]]:
    """Return the earliest and the latest alignment with the fewest slips: pairs of numbers of the equal
    lines.

    A slip is a line that is left out, invented, or reworded. Lines around the aligned part do not count: an
    edit distance with free ends (P. H. Sellers, "The theory and computation of evolutionary distances",
    1980). None for texts of which the table would take long.
    """
    if not wanted or not there or len(wanted) * len(there) > LARGEST:
        return []
    least = _compute_slip_table(wanted, there, alike)
    return [_trace_alignment(least, wanted, there, alike, late=late) for late in (False, True)]


def _compute_slip_table(wanted: Sequence[str], there: Sequence[str], alike: Alike) -> list[list[int]]:
    """Return the table of the fewest slips from each pair of positions on."""
    columns = len(there)
    least = [[0] * (columns + 1)]
    for i in range(len(wanted) - 1, -1, -1):
        below = least[-1]
        row = [below[columns] + 1] * (columns + 1)
        for j in range(columns - 1, -1, -1):
            best = min(below[j] + 1, row[j + 1] + (i > 0))
            if wanted[i] == there[j]:
                best = min(best, below[j + 1])
            elif best > below[j + 1] + 1 and alike(i, j):
                best = below[j + 1] + 1
            row[j] = best
        least.append(row)
    return least[::-1]


def _trace_alignment(
    least: Sequence[Sequence[int]], wanted: Sequence[str], there: Sequence[str], alike: Alike, *, late: bool
) -> tuple[tuple[int, int], ...]:
    pairs = []
    i = j = 0
    while i < len(wanted):
        now, within = least[i][j], j < len(there)
        skips = within and now == least[i][j + 1] + (i > 0)
        made_up = now == least[i + 1][j] + 1
        equal = within and wanted[i] == there[j] and now == least[i + 1][j + 1]
        reworded = within and not equal and now == least[i + 1][j + 1] + 1 and alike(i, j)
        if skips and (late or not (equal or reworded or made_up)):
            j += 1
        elif equal and not (late and made_up):
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif reworded and (late or not made_up):
            i, j = i + 1, j + 1
        else:
            i += 1
    return tuple(pairs)
