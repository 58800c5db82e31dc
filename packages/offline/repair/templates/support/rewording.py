"""Replacements in a source text that turn the actual text of a failing assertion into the expected one."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Iterator, Sequence

from sandbox.lazy_dataclass import dataclass

# Characters of context by which a difference is located; for a whole literal fewer are enough.
CONTEXT, SHORTEST = 6, 3
# Characters before and after a difference that are compared.
_AROUND = 200
# Maximum gap between differences that are one change of the source, and its maximum length: a reworded
# sentence.
_MOST_JOINED, _LONGEST = 4, 60
# Longer texts are reports, about which the assertion is little evidence; comparing them takes long.
_LONGEST_TEXT = 2_000
_QUOTES = "'\""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """Replace the characters start…end by `text`; `known`: number of surrounding characters that match."""

    start: int
    end: int
    text: str
    known: int


def find_rewordings(
    written: str, pairs: Sequence[tuple[str, str]], least: int = CONTEXT
) -> Iterator[Rewording]:
    """Yield replacements from each (found, wanted) pair, where `written` has enough of the found text.

    Placeholders (`%s`, `{name}`) end the context, so that formats and f-strings match as well.
    least: characters that must match the found text, changed ones included; for a whole literal `SHORTEST` is
    enough
    """
    for found, wanted in pairs:
        if found == wanted or max(len(found), len(wanted)) > _LONGEST_TEXT:
            continue
        for a, b, c, d in _find_difference_regions(found, wanted):
            text = wanted[c:d]
            if b - a + d - c > _LONGEST or "\\" in text or "\n" in text:
                continue
            before, after = found[max(0, a - _AROUND) : a][::-1], found[b : b + _AROUND]
            for start in sorted(_find_occurrences(written, found, (a, b), least // 2)):
                end = start + b - a
                left = _count_common_prefix(written[max(0, start - _AROUND) : start][::-1], before)
                right = _count_common_prefix(written[end : end + _AROUND], after)
                known = left + b - a + right
                ends = (
                    written[max(0, start - left - 1) : start - left],
                    written[end + right : end + right + 1],
                )
                is_whole = all(each and each in _QUOTES for each in ends)
                if known >= least or (is_whole and known >= SHORTEST):
                    yield Rewording(start=start, end=end, text=text, known=known)


@functools.lru_cache(maxsize=256)  # called for every literal of the suspicious statements
def _find_difference_regions(found: str, wanted: str) -> tuple[tuple[int, int, int, int], ...]:
    """Return (a, b, c, d): `found[a:b]` should be `wanted[c:d]`; merged differences first."""
    matcher = difflib.SequenceMatcher(None, found, wanted, autojunk=False)
    codes = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    return tuple(
        (codes[first][0], codes[first + length - 1][1], codes[first][2], codes[first + length - 1][3])
        for length in range(min(_MOST_JOINED, len(codes)), 0, -1)
        for first in range(len(codes) - length + 1)
    )


def _find_occurrences(written: str, found: str, part: tuple[int, int], least: int) -> set[int]:
    """Return possible offsets of the found part: with so many matching characters in it, or next to it on one side."""
    places: set[int] = set()
    first, last = part
    for start, end in ((min(first, max(0, last - least)), last), (first, max(last, first + least))):
        probe = found[start:end]
        at = written.find(probe) if len(probe) >= least else -1
        while at >= 0:
            places.add(at + first - start)
            at = written.find(probe, at + 1)
    return places


def _count_common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
