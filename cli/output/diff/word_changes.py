"""Words that differ between a removed line and the added line that replaces it."""

from __future__ import annotations

from difflib import SequenceMatcher

from sandbox.lazy_pattern import compile_lazily

LONGEST = 300
"""Maximum words of a line for the word diff: more takes too long."""

ALIKE = 0.4
"""Minimum similarity of two lines for the word diff: below that it is a different line."""

Places = list[tuple[int, int]]
"""(start, end) of each changed part."""


def find_word_changes(before: str, after: str) -> tuple[Places, Places]:
    """Return the changed parts of both lines; none if the lines have little in common."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > LONGEST:
        return [], []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return [], []
    left, right = Places(), Places()
    at_old, at_new = _measure_starts(old), _measure_starts(new)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        if a < b:
            left.append((at_old[a], at_old[b]))
        if c < d:
            right.append((at_new[c], at_new[d]))
    return left, right


_WORD = compile_lazily(r"\w+|\s+|.")


def _measure_starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts
