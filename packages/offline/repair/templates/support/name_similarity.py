"""Similarity of two names or texts (Ratcliff and Obershelp's ratio), cached: pairs recur often."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=200_000)
def measure_similarity(name: str, other: str) -> float:
    """Return the similarity from 0 to 1."""
    return difflib.SequenceMatcher(None, name, other).ratio()


def sort_by_similarity(name: str, others: Iterable[str]) -> list[str]:
    """Return the others, most similar first; equally similar ones keep their order."""
    return sorted(
        (each for each in dict.fromkeys(others) if each != name),
        key=lambda each: -measure_similarity(name, each),
    )


def find_nearest(name: str, others: Iterable[str], most: int, least: float) -> list[str]:
    """Like `difflib.get_close_matches`: return those with at least this similarity, most similar first.

    Pairs that cannot reach it (no ratio is higher than twice the shorter length over both) are not compared.
    """
    size = len(name)
    near = [
        (ratio, each)
        for each in others
        if 2 * min(size, len(each)) >= least * (size + len(each))
        and (ratio := measure_similarity(each, name)) >= least
    ]
    return [each for _, each in heapq.nlargest(most, near)]
