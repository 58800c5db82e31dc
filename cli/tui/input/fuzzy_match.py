"""Fuzzy matching of a query against texts, best match first."""

from __future__ import annotations

from collections.abc import Sequence


def rank_matches(query: str, texts: Sequence[str], limit: int | None = None) -> list[int]:
    """Return the indices of the texts that match, best first. Each word of the query has to match."""
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
    """Return a rank: 0 if the last part of a path (or a whole word) starts with the query, 1 if it contains it, 2 if
    the text contains it elsewhere, 3 if its letters occur in order; None: no match. `query` in lower case."""
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
