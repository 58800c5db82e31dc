"""Look-up of inputs and expected values in the text of tests."""

from __future__ import annotations

import re

TRIVIAL_TEXT = frozenset({"", "0", "1", "2", "-1"})
"""Literals that occur everywhere and show nothing."""

_LINES: dict[int, tuple[str, list[str]]] = {}


def join_lines(text: str) -> list[str]:
    """Return the logical lines of a test: brackets joined, quotes made alike."""
    known = _LINES.get(hash(text))
    if known is not None and known[0] == text:
        return known[1]
    joined: list[str] = []
    open_brackets = 0
    for line in text.replace('"', "'").splitlines():
        stripped = line.strip()
        if open_brackets > 0 and joined and len(joined[-1]) < 20_000:
            joined[-1] += " " + stripped
        else:
            joined.append(stripped)
            open_brackets = 0
        open_brackets += sum(stripped.count(each) for each in "([{") - sum(
            stripped.count(each) for each in ")]}"
        )
    _LINES.clear()
    _LINES[hash(text)] = text, joined
    return joined


def occurs_in(literal: str, line: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(literal)}(?![\w.]*\w)", line))
