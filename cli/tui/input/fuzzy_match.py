"""Fuzzy matching: which texts hold what was typed, the likeliest first."""

from __future__ import annotations

from collections.abc import Sequence


def rank_matches(query: str, texts: Sequence[str], limit: int | None = None) -> list[int]:
    """Indices of the texts that match, best first. Each word of the query has to match."""
    words = query.lower().split()
    found = []
    for index, text in enumerate(texts):
        scores = [score_match(word, text) for word in words]
        known = [each for each in scores if each is not None]
        if len(known) == len(words):
            found.append((sum(known), len(text), index))
    found.sort()
    return [index for _, _, index in found[:limit]]


def score_match(query: str, text: str) -> int | None:
    """0 the last part of a path (or all of a word) starts with it, 1 it is in there, 2 anywhere, 3 its letters come
    in order; None: no match. `query` in lower case."""
    lower = text.lower()
    name = lower.rpartition("/")[2]
    if name.startswith(query):
        return 0
    if query in name:
        return 1
    if query in lower:
        return 2
    place = -1
    for letter in query:
        place = lower.find(letter, place + 1)
        if place < 0:
            return None
    return 3
