"""The rung of elisions: an elided middle, between parts that match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.edit.formats.placeholders import is_omission
from tools.edit.indentation import indent_of
from tools.edit.match.matchers import STEPS, Site, Source, Step, find_sites

MAX_ASSIGNMENTS = 50
"""Assignments of the parts around elisions to the file that are tried: two are too many already."""


def find_elided_sites(source: Source, wanted: Sequence[str]) -> tuple[Step | None, list[Site]]:
    """Find sites of wanted lines of which some are elisions ("..."), each for any number of the file's lines.

    The step is the strictest at which every part occurs; the same step applies to all parts.
    """
    parts = list(_split_at_elisions(wanted))
    if len(parts) < 2:
        return None, []
    others: list[Site] = []
    for step in STEPS:
        places = []
        for start, end in parts:
            found = find_sites(source, wanted[start:end], step)
            if not found:
                break
            places.append([_offset_wanted_numbers(site, start) for site in found])
        else:
            if found := list(_assign_sites(source, wanted, places)):
                return step, [*found, *others]
            # every part matches, but the depth of the dots does not
            others = others or list(_assign_sites(source, wanted, places, dots_tell=False))
    return None, []


def _split_at_elisions(wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines between elisions, without those that are blank throughout."""
    start = 0
    for i in [*(i for i, line in enumerate(wanted) if is_omission(line)), len(wanted)]:
        if any(line.strip() for line in wanted[start:i]):
            yield start, i
        start = i + 1


def _offset_wanted_numbers(site: Site, by: int) -> Site:
    return Site(first=site.first, end=site.end, pairs=tuple((wanted + by, row) for wanted, row in site.pairs))


def _assign_sites(
    source: Source, wanted: Sequence[str], places: Sequence[Sequence[Site]], *, dots_tell: bool = True
) -> Iterator[Site]:
    """Yield every choice of a place for each part such that they follow one another.

    dots_tell: elided lines are no less deep than the dots
    """
    left = MAX_ASSIGNMENTS
    stack = [[site] for site in reversed(places[0])]
    while stack and left:
        chosen = stack.pop()
        if len(chosen) == len(places):
            left -= 1
            pairs = tuple(pair for site in chosen for pair in site.pairs)
            yield Site(first=chosen[0].first, end=chosen[-1].end, pairs=pairs)
            continue
        before = chosen[-1]
        marker = next(
            wanted[i] for i in range(before.pairs[-1][0] + 1, len(wanted)) if is_omission(wanted[i])
        )
        deeper = _compute_elision_depth(source, wanted, before, marker)
        for site in reversed(places[len(chosen)]):
            if site.first >= before.end and (
                not dots_tell or _is_indented_at_least(source, before.end, site.first, deeper)
            ):
                stack.append([*chosen, site])


def _compute_elision_depth(source: Source, wanted: Sequence[str], before: Site, marker: str) -> int:
    """Return the minimum columns of elided lines: the elision's depth relative to the line before it."""
    number, row = before.pairs[-1]
    shift = len(indent_of(source.lines[row]).expandtabs(4)) - len(indent_of(wanted[number]).expandtabs(4))
    return len(indent_of(marker).expandtabs(4)) + shift


def _is_indented_at_least(source: Source, first: int, end: int, columns: int) -> bool:
    return columns <= 0 or all(
        len(indent_of(line).expandtabs(4)) >= columns for line in source.lines[first:end] if line.strip()
    )
