"""BM25F over the words of files: symbol names, code and prose are fields of different weight.

Robertson, Zaragoza, Taylor: "Simple BM25 extension to multiple weighted fields", CIKM 2004.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

K1 = 2.0
B = 0.75
"""Saturation of repeated words, and length normalization."""

NAMED, CODE, PROSE = 4.0, 1.0, 1.0
"""Weights of a word in a symbol's name, in code, and in comments and strings."""


def score_texts(
    index: Index, words: Mapping[str, float], among: Mapping[int, Sequence[str]] | None = None
) -> dict[int, float]:
    """Return text → score, of texts that contain any of the weighted words.

    among: the texts that are scored; all if None
    """
    counts, current = index.counts, index.by_text if among is None else among
    lengths = {
        number: NAMED * named + CODE * code + PROSE * prose
        for number, (named, code, prose) in counts.items()
        if number in current
    }
    if not lengths:
        return {}
    average = sum(lengths.values()) / len(lengths) or 1.0
    norms = {number: K1 * (1 - B + B * length / average) for number, length in lengths.items()}
    scores: dict[int, float] = {}
    for word, weight in words.items():
        postings = [each for each in index.find_word(word) if each[0] in lengths]
        if not postings:
            continue
        idf = math.log(1 + (len(lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
        for number, named, code, prose in postings:
            often = NAMED * named + CODE * code + PROSE * prose
            scores[number] = scores.get(number, 0.0) + weight * idf * often * (K1 + 1) / (
                often + norms[number]
            )
    return scores
