"""What a file was like when the model last saw it: enough to tell whether, and where, it has changed since."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a file: the fingerprint of its bytes, and a hash of each line (8 bytes a line, no text)."""

    fingerprint: str
    lines: array[int]


def version(fingerprint: str, text: str) -> Version:
    """The version that has this text."""
    return Version(fingerprint=fingerprint, lines=_hashes(text))


def changed_since(seen: Version, text: str) -> list[tuple[int, int]]:
    """Ranges of lines (from 0, end not included) of `text` that are not as in the version seen.

    A range is empty where lines are gone.
    """
    return [(c, d) for _, _, c, d in differing(seen.lines, _hashes(text))]


def after_edit(seen: Version, old: str, new: str) -> Version:
    """What is known of a file that had changed elsewhere before it was edited: all but the lines of that change.

    Its fingerprint is nobody's, so that the file still counts as changed until it is read.
    """
    lines = _hashes(new)
    touched = [(b, d - b) for _, b, _, d in differing(_hashes(old), lines)]
    for first, end in changed_since(seen, old):
        shift = next((growth for before, growth in reversed(touched) if before <= first), 0)
        for number in range(first + shift, max(end, first + 1) + shift):
            if number < len(lines):
                lines[number] = _UNKNOWN
    return Version(fingerprint="", lines=lines)


_UNKNOWN = -1
"""Stands for a line that the model has not seen: Python gives nothing this hash."""


def differing(old: Sequence[object], new: Sequence[object]) -> list[tuple[int, int, int, int]]:
    """(first, end) in `old` and (first, end) in `new` of what differs; equal ends are passed over at once."""
    shortest = min(len(old), len(new))
    start = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    rest = shortest - start
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if not middle_old and not middle_new:
        return []
    if not middle_old or not middle_new:
        return [(start, start + len(middle_old), start, start + len(middle_new))]
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, middle_old, middle_new).get_opcodes()
    return [(start + a, start + b, start + c, start + d) for tag, a, b, c, d in codes if tag != "equal"]


def _hashes(text: str) -> array[int]:
    return array("q", map(hash, text.split("\n")))
