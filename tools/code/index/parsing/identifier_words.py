"""Words of code and prose in one vocabulary: `getQuerySet`, `get_query_sets` and "query set" share words.

Identifiers are split at case changes and underscores, as in most work on code search (for instance Hill et al.,
"An empirical study of identifier splitting techniques", 2014); plural endings are dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sandbox.lazy_pattern import compile_lazily

IDENTIFIER = compile_lazily(r"[^\W\d]\w*")
"""An identifier in almost every language."""

_PART = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")

MAX_WORD = 40
"""Longer ones are data, not words."""


class _WordCache(dict[str, tuple[str, ...]]):
    """Cache of the words of identifiers: faster than `lru_cache`."""

    def __missing__(self, identifier: str) -> tuple[str, ...]:
        if len(self) >= MOST_KNOWN:
            self.clear()
        found = self[identifier] = tuple(
            singularize(part.lower()) for part in _PART.findall(identifier) if 1 < len(part) <= MAX_WORD
        )
        return found


MOST_KNOWN = 200_000
"""Identifiers in the cache."""

_KNOWN = _WordCache()


def split_identifier(identifier: str) -> tuple[str, ...]:
    """Return the words of an identifier, in lower case and singular: `HTTPResponses_for` → http, response, for."""
    return _KNOWN[identifier]


def singularize(word: str) -> str:
    """Strip an English plural ending, as far as a simple rule can."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1]


def count_words(text: str) -> Counter[str]:
    """Count each word of a text."""
    # Words contain no digits or underscores, so a text can be split at these as well.
    if text.isascii():
        return Counter(count_name_words(Counter(text.translate(_LETTERS).split())))
    return Counter(count_name_words(Counter(IDENTIFIER.findall(text))))


_LETTERS = "".join(each if each.isalpha() else " " for each in map(chr, range(128)))
"""Translation table of ASCII: every non-letter becomes a space."""


def count_name_words(names: Mapping[str, int]) -> dict[str, int]:
    """Count each word of names that are already counted."""
    words: dict[str, int] = {}
    there, known = words.get, _KNOWN
    for name, count in names.items():
        for part in known[name]:
            words[part] = there(part, 0) + count
    return words
