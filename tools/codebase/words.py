"""Words of code and of prose in one vocabulary: `getQuerySet`, `get_query_sets` and "query set" have words in common.

Identifiers are split where case changes and at underscores, as in most work on searching code (for instance
Hill et al., "An empirical study of identifier splitting techniques", 2014); endings of the plural are dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

IDENTIFIER = re.compile(r"[^\W\d]\w*")
"""A name in almost every language."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

MAX_WORD = 40
"""Longer ones are data, not words."""


@lru_cache(maxsize=200_000)
def parts(identifier: str) -> tuple[str, ...]:
    """The words of an identifier, in lower case and the singular: `HTTPResponses_for` → http, response, for."""
    return tuple(singular(part.lower()) for part in _PART.findall(identifier) if 1 < len(part) <= MAX_WORD)


def singular(word: str) -> str:
    """Without the ending of an English plural, as far as a rule can tell."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1]


def counted(text: str) -> Counter[str]:
    """How often each word stands in a text."""
    return spread(Counter(IDENTIFIER.findall(text)))


def spread(names: Mapping[str, int]) -> Counter[str]:
    """How often each word stands in names that are counted already."""
    words: dict[str, int] = {}  # a Counter asks a function of Python for each new key
    there = words.get
    for name, count in names.items():
        for part in parts(name):
            words[part] = there(part, 0) + count
    return Counter(words)
