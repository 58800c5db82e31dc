"""What a file was like when the model last saw it: enough to tell whether, and where, it has changed since."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenVersion:
    """One version of a file: the fingerprint of its bytes, and a hash of each line (8 bytes a line, no text)."""

    fingerprint: str
    lines: array[int]


def create_version(fingerprint: str, text: str) -> SeenVersion:
    """The version that has this text."""
    return SeenVersion(fingerprint=fingerprint, lines=_hash_lines(text))


def find_changed_ranges(seen: SeenVersion, text: str) -> list[tuple[int, int]]:
    """Ranges of lines (from 0, end not included) of `text` that are not as in the version seen.

    A range is empty where lines are gone.
    """
    return [(c, d) for _, _, c, d in diff_sequences(seen.lines, _hash_lines(text))]


def update_after_edit(seen: SeenVersion, old: str, new: str) -> SeenVersion:
    """What is known of a file that had changed elsewhere before it was edited: all but the lines of that change.

    Its fingerprint is nobody's, so that the file still counts as changed until it is read.
    """
    lines = _hash_lines(new)
    touched = [(b, d - b) for _, b, _, d in diff_sequences(_hash_lines(old), lines)]
    for first, end in find_changed_ranges(seen, old):
        shift = next((growth for before, growth in reversed(touched) if before <= first), 0)
        for number in range(first + shift, max(end, first + 1) + shift):
            if number < len(lines):
                lines[number] = _UNKNOWN
    return SeenVersion(fingerprint="", lines=lines)


_UNKNOWN = -1
"""Stands for a line that the model has not seen: Python gives nothing this hash."""


def diff_sequences(old: Sequence[object], new: Sequence[object]) -> list[tuple[int, int, int, int]]:
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


def _hash_lines(text: str) -> array[int]:
    return array("q", map(hash, text.split("\n")))
