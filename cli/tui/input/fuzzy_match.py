"""Fuzzy matching of a query against texts, best match first."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate


def rank_matches(query: str, texts: Sequence[str], limit: int | None = None) -> list[int]:
    """Return the indices of the texts that match, best first. Each word of the query has to match."""
    return FuzzyIndex(texts).rank(query, limit)


class FuzzyIndex:
    """Texts prepared for many queries: one search goes through all of them, only those that match are ranked."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = [text.lower().replace("\n", " ") for text in texts]
        self._lengths = [len(text) for text in texts]
        self._lines = "\n".join(self._texts)
        self._starts = [0, *accumulate(len(text) + 1 for text in self._texts)]

    def rank(self, query: str, limit: int | None = None) -> list[int]:
        """Return the indices of the texts that match, best first. Each word of the query has to match."""
        words = query.lower().split()
        found = []
        searched = max(words, key=len, default="")
        for index in self._list_candidates(words, limit):
            text = self._texts[index]
            rank = 0
            for word in words:
                if word == searched and word not in text:
                    score: int | None = LETTERS  # else it would not be a candidate
                else:
                    score = score_match(word, text)
                if score is None:
                    break
                rank += score
            else:
                found.append((rank, self._lengths[index], index))
        found.sort()
        return [index for _, _, index in found[:limit]]

    def _list_candidates(self, words: Sequence[str], limit: int | None) -> Sequence[int]:
        """Return the texts that may be among the best `limit`: those that contain a word rank before all others."""
        if not words:
            return range(len(self._texts))
        if len(words) == 1 and limit is not None:
            containing = list(self._find_containing(words[0]))
            if len(containing) >= limit:
                return containing
        return self._find_letters(max(words, key=len))

    def _find_containing(self, word: str) -> Iterator[int]:
        place = self._lines.find(word)
        while place >= 0:
            index = bisect_right(self._starts, place) - 1
            yield index
            place = self._lines.find(word, self._starts[index + 1])

    def _find_letters(self, word: str) -> list[int]:
        """Return the texts in which the letters occur in order."""
        letters = map(re.escape, word)
        pattern = re.compile("^" + "".join(rf"[^\n{each}]*{each}" for each in letters), re.MULTILINE)
        return [bisect_right(self._starts, found.start()) - 1 for found in pattern.finditer(self._lines)]


def score_match(query: str, text: str) -> int | None:
    """Return a rank: 0 if the last part of a path (or a whole word) starts with the query, 1 if it contains it, 2 if
    the text contains it elsewhere, 3 if its letters occur in order; None: no match. Both in lower case."""
    if query in text:
        name = text.rpartition("/")[2]
        return 0 if name.startswith(query) else 1 if query in name else 2
    place = -1
    for letter in query:
        place = text.find(letter, place + 1)
        if place < 0:
            return None
    return LETTERS


LETTERS = 3
"""Rank of a text in which only the letters of the query occur in order."""
