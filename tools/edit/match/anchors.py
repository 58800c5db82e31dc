"""The rung of anchors: partly different lines, anchored by the equal ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.match.edit_distance import find_extreme_alignments
from tools.edit.match.matchers import (
    Rung,
    Site,
    Source,
    View,
    build_site,
    first_step,
    has_distinctive_word,
    normalize_tokens,
)

FLOOR = 0.8
"""Similarity, weighted by length, of all wanted lines to the file's. A line reworded among five is about
0.85.
"""

LINE_FLOOR = 0.55
"""Similarity of one line: below it, it is another line."""

REMOVED_FLOOR = 0.75
"""The same for a line that is to be replaced: the removed line must be the one that was meant."""

MARGIN = 0.12
"""Required distance in similarity of any other place."""

RIVAL = 0.8
"""Share of the exact matches of the best place from which another place may be the one that is meant."""

HELD = 0.4
"""Share of the wanted text that must match exactly."""

ALIKE, HELD_IF_ALIKE = 0.9, 0.2
"""At this total similarity, a smaller exact share suffices: other quotes affect all lines."""

LEAST_HELD = 8
"""Characters that must match exactly: brackets alone are no anchor."""

LONGEST = 1_000
"""Characters of a line that is compared by parts: longer ones are generated, and would take seconds."""

SLACK = 4
"""Lines that may be missing or invented on either side of the wanted ones."""


def find_anchored_sites(source: Source, wanted: Sequence[str], removed: Sequence[bool]) -> list[Site]:
    """Find sites where most wanted lines match exactly and the others are similar; best first.

    removed: for each wanted line whether it is to be removed
    """
    view = source.view(_TOKENS)
    likeness = cache(_measure_likeness)  # the places overlap: each pair of lines is compared many times
    numbers = [i for i, line in enumerate(wanted) if line.strip()]
    keys = [normalize_tokens(wanted[i]) for i in numbers]
    if len(keys) < 2:
        return []
    starts = _rank_start_rows(view.places, keys)
    best = _find_best_alignment(view.keys, keys, starts, likeness)
    if best is not None:
        best = best.drop_inexact_pairs(
            [i for i, key in enumerate(keys) if key in view.places and has_distinctive_word(key)], keys
        )
    if best is None or not _is_well_anchored(best, keys, [removed[i] for i in numbers]):
        return []
    found = [best, *_find_rivals(best, view.keys, keys, starts, likeness)]
    if (again := _find_shifted_alignment(best, view.keys)) is not None:
        found.append(again)
    if len(found) == 1:
        found += _find_alternative_alignments(best, view, keys, likeness)
    rows = view.rows(0, len(view.keys))
    return [
        build_site(source, wanted, [(numbers[i], rows[row]) for i, row, _ in each.pairs]) for each in found
    ]


def _find_rivals(
    best: _Alignment, lines: Sequence[str], keys: Sequence[str], starts: Sequence[int], likeness: _Measure
) -> list[_Alignment]:
    """Return the next best place, if it may be meant as well."""
    hidden = list(lines)  # mask the rows of the best place, so that an adjacent one is found too
    for _, row, _ in best.pairs:
        hidden[row] = "\0"
    other = _find_best_alignment(hidden, keys, starts, likeness)
    if other is not None and other.is_rival_of(best):
        return [other]
    return next(
        (
            [each]
            for each in _align_exact_lines(hidden, keys, starts, RIVAL * best.held)
            if each.is_rival_of(best)
        ),
        [],
    )


def _find_alternative_alignments(
    best: _Alignment, view: View, keys: Sequence[str], likeness: _Measure
) -> Iterator[_Alignment]:
    """Yield other alignments of the same lines with as few slips."""
    low = max(best.pairs[0][1] - SLACK, 0)
    window = view.keys[low : best.pairs[-1][1] + 1 + SLACK]
    reworded = {i for i, key in enumerate(keys) if key not in view.places}

    def is_reworded(number: int, row: int) -> bool:
        one, other = keys[number], window[row]
        return number in reworded and (one.casefold() == other.casefold() or likeness(one, other) > 0.0)

    known = [pair[:2] for pair in best.pairs if pair[2] == 1.0]
    for pairs in find_extreme_alignments(keys, window, is_reworded):
        if pairs and [(i, low + row) for i, row in pairs] != known:
            yield _align_between_blocks(keys, window, low, [(i, row, 1) for i, row in pairs], likeness)


def _align_exact_lines(
    lines: Sequence[str], keys: Sequence[str], starts: Sequence[int], least: float
) -> Iterator[_Alignment]:
    """Yield alignments by exact lines, in order, of places where at least this share matches in any order."""
    for start in starts:
        low, end = max(start - SLACK, 0), start + len(keys) + SLACK
        window = lines[low:end]
        there = set(window)
        if (
            _compute_weighted_likeness([(i, 0, 1.0) for i, key in enumerate(keys) if key in there], keys)
            < least
        ):
            continue
        equal = [[float(len(key)) if key == line else 0.0 for line in window] for key in keys]
        pairs = tuple((i, low + j, 1.0) for i, j in _pair_in_order(equal))
        share = _compute_weighted_likeness(pairs, keys)
        if pairs:
            yield _Alignment(pairs=pairs, likeness=share, held=share)


def _find_shifted_alignment(best: _Alignment, lines: Sequence[str]) -> _Alignment | None:
    """Return the same alignment shifted up or down if all exact lines match there again: repetitive lines
    overlap with themselves.
    """
    exact = [row for _, row, likeness in best.pairs if likeness == 1.0]
    for by in range(1, exact[-1] - exact[0] + 2):
        for shift in (by, -by):
            rows = range(best.pairs[0][1] + shift, best.pairs[-1][1] + shift + 1)
            inside = rows.start >= 0 and rows.stop <= len(lines)
            if inside and all(lines[row + shift] == lines[row] for row in exact):
                pairs = tuple((i, row + shift, likeness) for i, row, likeness in best.pairs)
                return replace(best, pairs=pairs)
    return None


_WORD = compile_lazily(r"\w")

_Measure = Callable[[str, str], float]
"""Similarity of two lines, from 0 to 1."""

_TOKENS = replace(first_step(Rung.WHITE_SPACE), skips_blank=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alignment:
    """Pairs (wanted, file), both counted without blank lines, with the similarity of each, and of the whole.

    held: share of the whole that matches exactly
    """

    pairs: tuple[tuple[int, int, float], ...]
    likeness: float
    held: float

    def drop_inexact_pairs(self, standing: Sequence[int], keys: Sequence[str]) -> _Alignment:
        """Drop inexact pairs of lines that occur exactly somewhere: they are no slips of other lines."""
        pairs = tuple(pair for pair in self.pairs if pair[2] == 1.0 or pair[0] not in standing)
        return _Alignment(pairs=pairs, likeness=_compute_weighted_likeness(pairs, keys), held=self.held)

    def is_rival_of(self, best: _Alignment) -> bool:
        """Return whether this one may be meant instead: nearly as similar, or with as many exact matches."""
        return self.likeness > best.likeness - MARGIN or self.held >= RIVAL * best.held


def _rank_start_rows(places: dict[str, list[int]], keys: Sequence[str]) -> list[int]:
    """Return candidate start rows: wanted lines that occur in the file vote, long and rare ones more."""
    votes: Counter[int] = Counter()
    for i, key in enumerate(keys):
        where = places.get(key, ())
        if len(where) <= 200:  # closing brackets occur everywhere and are no evidence
            for row in where:
                votes[row - i] += len(key)
    near: Counter[int] = Counter()
    for start, weight in votes.items():
        near[start] = sum(votes.get(start + by, 0) for by in range(-2, 3)) * 1000 + weight
    return [max(start, 0) for start, _ in near.most_common(24)]


def _find_best_alignment(
    lines: Sequence[str], keys: Sequence[str], starts: Sequence[int], likeness: _Measure
) -> _Alignment | None:
    best: _Alignment | None = None
    for position in starts:
        for low in {max(position - SLACK, 0), position}:  # with slack in front, a copy there might be matched
            alignment = _align_window(keys, lines[low : position + len(keys) + SLACK], low, likeness)
            if alignment.pairs and (best is None or alignment.likeness > best.likeness):
                best = alignment
    return best


def _align_window(keys: Sequence[str], window: Sequence[str], low: int, likeness: _Measure) -> _Alignment:
    """Pair equal lines first; between them, in order, the most similar ones."""
    blocks = SequenceMatcher(None, keys, window, autojunk=False).get_matching_blocks()
    return _align_between_blocks(
        keys, window, low, [(each.a, each.b, each.size) for each in blocks], likeness
    )


def _align_between_blocks(
    keys: Sequence[str],
    window: Sequence[str],
    low: int,
    blocks: Sequence[tuple[int, int, int]],
    likeness: _Measure,
) -> _Alignment:
    """Build the alignment from runs of equal lines (number, row of the window, size), with similar ones
    between them.
    """
    pairs: list[tuple[int, int, float]] = []
    mine = there = 0
    for first, row, size in [*blocks, (len(keys), len(window), 0)]:
        pairs += _align_similar_lines(keys, window, (mine, first), (there, row), low, likeness)
        pairs += [(first + i, low + row + i, 1.0) for i in range(size)]
        mine, there = first + size, row + size
    return _Alignment(
        pairs=tuple(pairs),
        likeness=_compute_weighted_likeness(pairs, keys),
        held=_compute_weighted_likeness([pair for pair in pairs if pair[2] == 1.0], keys),
    )


def _compute_weighted_likeness(pairs: Sequence[tuple[int, int, float]], keys: Sequence[str]) -> float:
    """Return the similarity of all wanted lines, weighted by length."""
    return sum(len(keys[i]) * likeness for i, _, likeness in pairs) / max(sum(map(len, keys)), 1)


def _align_similar_lines(
    keys: Sequence[str],
    window: Sequence[str],
    mine: tuple[int, int],
    there: tuple[int, int],
    low: int,
    measure: _Measure,
) -> list[tuple[int, int, float]]:
    """Pair lines that are versions of one another: the best alignment of two short runs."""
    rows, columns = mine[1] - mine[0], there[1] - there[0]
    if not rows or not columns or rows * columns > 400:
        return []
    likeness = [
        [measure(keys[mine[0] + i], window[there[0] + j]) for j in range(columns)] for i in range(rows)
    ]
    beside = _pair_neighbours(likeness, first=mine[0] == 0, last=mine[1] == len(keys))
    pairs = beside or [
        (i, j)
        for i, j in _pair_in_order(likeness)
        if all(other <= likeness[i][j] - MARGIN for k, other in enumerate(likeness[i]) if k != j)
    ]
    return [(mine[0] + i, low + there[0] + j, likeness[i][j]) for i, j in pairs]


def _pair_neighbours(
    likeness: Sequence[Sequence[float]], *, first: bool, last: bool
) -> list[tuple[int, int]]:
    """Pair each line with its neighbour, if all are similar, and none is as similar to another line there:
    counted, at the ends, from the exact matches.
    """
    rows, columns = len(likeness), len(likeness[0])
    if columns < rows or not (first or last or rows == columns):
        return []
    shift = columns - rows if first else 0
    pairs = [(i, i + shift) for i in range(rows)]
    most = all(value < likeness[i][j] for i, j in pairs for k, value in enumerate(likeness[i]) if k != j)
    return pairs if most and all(likeness[i][j] for i, j in pairs) else []


def _pair_in_order(likeness: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the non-crossing pairs of the highest total similarity."""
    rows, columns = len(likeness), len(likeness[0])
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + likeness[i][j])
    found = []
    i = j = 0
    while i < rows and j < columns:
        if likeness[i][j] and best[i][j] == best[i + 1][j + 1] + likeness[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _measure_likeness(one: str, other: str) -> float:
    """Return the similarity of two lines; 0.0 below LINE_FLOOR, and where either has no word: of brackets and
    comment marks a letter is half of all. Bounds by length and by letters come first: most pairs are far
    apart.
    """
    enough = LINE_FLOOR * (len(one) + len(other)) / 2
    if max(len(one), len(other)) > LONGEST or min(len(one), len(other)) < enough:
        return 0.0
    if (Counter(one) & Counter(other)).total() < enough:
        return 0.0
    if not (_WORD.search(one) and _WORD.search(other)):
        return 0.0
    ratio = SequenceMatcher(None, one, other, autojunk=False).ratio()
    return ratio if ratio >= LINE_FLOOR else 0.0


def _is_well_anchored(best: _Alignment, keys: Sequence[str], removed: Sequence[bool]) -> bool:
    """Return whether enough lines match exactly, and every line to be removed is matched."""
    likeness = {i: value for i, _, value in best.pairs}
    if best.likeness < FLOOR:
        return False
    characters = sum(len(keys[i]) for i, value in likeness.items() if value == 1.0)
    if characters < LEAST_HELD or best.held < (HELD_IF_ALIKE if best.likeness >= ALIKE else HELD):
        return False
    rows = {i: row for i, row, _ in best.pairs}
    return all(
        likeness.get(i, 0.0) >= REMOVED_FLOOR and _has_adjacent_neighbour(rows, i)
        for i, gone in enumerate(removed)
        if gone
    )


def _has_adjacent_neighbour(rows: Mapping[int, int], number: int) -> bool:
    """Return whether a line is adjacent to a neighbour's match: one further off, however similar, is another."""
    return rows.get(number - 1) == rows[number] - 1 or rows.get(number + 1) == rows[number] + 1
