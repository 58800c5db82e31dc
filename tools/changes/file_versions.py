"""Version of a file as the model last saw it: enough to detect whether, and where, it has changed since."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenVersion:
    """One version of a file: the fingerprint of its bytes, and a hash of each line (8 bytes a line, no text)."""

    fingerprint: str
    lines: array[int]


def create_version(fingerprint: str, text: str) -> SeenVersion:
    """Return the version of this text."""
    return SeenVersion(fingerprint=fingerprint, lines=_hash_lines(text))


def find_changed_ranges(seen: SeenVersion, text: str) -> list[tuple[int, int]]:
    """Return the line ranges (from 0, end exclusive) of `text` that differ from the version seen.

    A range is empty where lines were removed.
    """
    return [(c, d) for _, _, c, d in diff_sequences(seen.lines, _hash_lines(text))]


def update_after_edit(seen: SeenVersion, old: str, new: str) -> SeenVersion:
    """Update the version of an externally changed file after an edit; externally changed lines stay unseen.

    Its fingerprint is empty, so that the file still counts as changed until it is read.
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
"""Hash of a line that the model has not seen: Python's hash() never returns it."""


def diff_sequences(old: Sequence[object], new: Sequence[object]) -> list[tuple[int, int, int, int]]:
    """Return (first, end) in `old` and (first, end) in `new` of each difference; common ends are skipped quickly."""
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
