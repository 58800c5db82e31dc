"""A ranking of short texts by the words of a question: BM25F over weighted fields, with words that mean the same.

One ranking for tools of servers and for skills. Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple
weighted fields", CIKM 2004. The weights were chosen on the development halves of benchmarks/tool_search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tools.discovery.query_words import list_meanings
from tools.discovery.tool_words import split_words

K1, B = 1.4, 0.5
"""Saturation of repeated words, and length normalization."""

FADING = 0.6
"""Weight of each further word of a document that means the same as one of the query, by the one before it."""

LONGEST = 400
"""Words of a field that count."""

Fields = Sequence[tuple[str, float]]
"""Texts, each with the weight of its words."""


class WordRanking:
    """An index of documents by their words."""

    def __init__(self, documents: Iterable[Fields]) -> None:
        self._words = [_weigh_words(each) for each in documents]
        lengths = [sum(each.values()) for each in self._words]
        average = sum(lengths) / max(len(lengths), 1) or 1.0
        self._norms = [K1 * (1 - B + B * each / average) for each in lengths]
        self._places: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                self._places.setdefault(word, []).append(number)

    def rank(self, query: str) -> list[int]:
        """Return the numbers of the documents that have to do with a query, the best one first."""
        scores: dict[int, float] = {}
        for meaning in list_meanings(query):
            for number, found in self._score_words(meaning).items():
                faded = sum(each * FADING**place for place, each in enumerate(sorted(found, reverse=True)))
                scores[number] = scores.get(number, 0.0) + faded
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _score_words(self, meaning: Mapping[str, float]) -> dict[int, list[float]]:
        """Return, by document, the scores of those of a meaning's words that it has."""
        found: dict[int, list[float]] = {}
        for word, weight in meaning.items():
            places = self._places.get(word, ())
            rarity = math.log(1 + (len(self._words) - len(places) + 0.5) / (len(places) + 0.5))
            for number in places:
                often = self._words[number][word]
                score = weight * rarity * often * (K1 + 1) / (often + self._norms[number])
                found.setdefault(number, []).append(score)
        return found


def _weigh_words(fields: Fields) -> dict[str, float]:
    found: dict[str, float] = {}
    for text, weight in fields:
        for word in dict.fromkeys([*split_words(text)][:LONGEST]):
            found[word] = found.get(word, 0.0) + weight
    return found
