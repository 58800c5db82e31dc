"""Search for past cases that a prompt resembles, and for those whose files it names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case
from sandbox.lazy_pattern import compile_lazily

_MOST_WORDS, _LOOKED_UP = 40, 90
"""Words of a prompt that the search takes, and the first ones among which it finds the rarest: each costs a look into
the index (benchmarks/results/2026-11-30-memory.md)."""

_MOST_COMMON = 150
"""Cases with a word beyond which the word is not searched: each costs time to rank."""

_MOST_ROWS = 1500
"""Cases with the words, counted for each word, that are ranked: rarer words first, which weigh more."""

_LEAST_TELLING, _TELLING_SHARE = 3, 5
"""Cases, or one in so many of all, up to which a word that they share with the prompt tells them from others."""

_MOST_NAMES, _MOST_NAMED, _RANKED = 4, 10, 12
"""Files and modules of a prompt that are looked up, cases of each, and cases that are ranked by words."""

_LEAST_SHARED = 2
"""Rare words that a case shares with the prompt before it is shown: one alone is chance."""

_WORD = compile_lazily(r"[^\W\d]\w{2,40}")

_NAME = compile_lazily(r"(?<![\w.-])[\w-]+(?:[./][\w-]+)+")
"""A path, or a module with dots, perhaps with names in it."""

_COMMON = (
    "the and for that this with from are was were has have had not but can could should would will you your all"
    " any its it's when where what which who why how into than then there here please make makes made use uses"
    " used also file files code test tests add change fix bug error fail fails failing get set run new old one"
    " two function method class line lines does doesn don didn isn via per let see now only just like same"
    " other more most some"
)
"""Words that tell no task from another."""


def list_words(text: str) -> list[str]:
    """Return the words of a text that may tell it from others, each once, names in parts as well."""
    found: dict[str, None] = {}
    common = set(_COMMON.split())
    for match in _WORD.finditer(text):
        word = match[0]
        parts = [word, *re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}", word.replace("_", " "))]
        found.update(
            dict.fromkeys(each.lower() for each in parts if each.lower() not in common and len(each) > 2)
        )
    return list(found)


def find_similar_places(store: MemoryStore, prompt: str, most: int = 2) -> list[tuple[tuple[str, ...], str]]:
    """Return the places of the cases that are most similar, each with why, as a clause.

    Cases of files that the prompt names come first; within them, and else, those that share most of its rare words,
    of which those of its first line count twice.
    """
    words = list_words(prompt)[:_LOOKED_UP]
    counts = store.count_word_cases(words, _MOST_COMMON + 1)
    rare = sorted(
        (each for each in words if 0 < counts.get(each, 0) <= _MOST_COMMON), key=lambda each: counts[each]
    )
    limit = max(_LEAST_TELLING, store.count_cases() // _TELLING_SHARE)
    telling = [each for each in rare if counts[each] <= limit]
    title = set(list_words(prompt.strip().partition("\n")[0]))
    sums = itertools.accumulate(counts[each] for each in rare)
    asked = [word for word, rows in zip(rare, sums, strict=True) if rows <= _MOST_ROWS][:_MOST_WORDS]
    ranked = store.search_cases([*asked, *(each for each in asked if each in title)], _RANKED)
    scores = {case.id: score for case, score in ranked}
    named = _find_named_cases(store, prompt)
    cases = {case.id: case for case, _ in ranked} | {case.id: case for case, _, _ in named}
    levels = {case.id: (level, name) for case, level, name in reversed(named)}

    def order(case: Case) -> tuple[int, float, float]:
        return levels.get(case.id, (0, ""))[0], scores.get(case.id, 0.0), case.time

    found: dict[tuple[str, ...], str] = {}
    for case in sorted(cases.values(), key=order, reverse=True):
        why = f"the prompt names {levels[case.id][1]}" if case.id in levels else _find_shared(case, telling)
        if why and case.places:
            found.setdefault(case.places, why)
    return list(found.items())[:most]


def _find_shared(case: Case, rare: list[str]) -> str:
    text = " ".join([case.task, *case.places, *case.names]).lower()
    shared = [each for each in rare if each in text]
    return f"it shares {', '.join(shared[:3])}" if len(shared) >= _LEAST_SHARED else ""


def _find_named_cases(store: MemoryStore, prompt: str) -> list[tuple[Case, int, str]]:
    """Return cases with a file that the prompt names, each with how sure that is (2: by folders, too) and the name."""
    names = list(dict.fromkeys(_NAME.findall(prompt)))[:_MOST_NAMES]
    if not names:
        return []
    asked = dict.fromkeys(path for name in names for path in (name, *_list_paths(name)))
    known = store.search_places(list(asked), _MOST_NAMED)
    found = [(case, level, name) for name in names for case, level in _choose_cases(known, name)]
    return sorted(found, key=lambda each: -each[1])


def _list_paths(name: str) -> list[str]:
    """Return the paths that a path or a dotted name may mean, longest first: `a.b.c` may be `a/b/c.*`, or `a/b.*`."""
    parts = name.split("/")
    if len(parts) > 1:
        return ["/".join(parts[begin:]) for begin in range(len(parts) - 1)]
    parts = name.split(".")
    return ["/".join(parts[:count]) for count in range(len(parts), 1, -1)]


def _choose_cases(known: Mapping[str, Sequence[Case]], name: str) -> Iterator[tuple[Case, int]]:
    """Yield the cases with the file of a path or a dotted name. known: cases by what was searched in their places"""
    is_path = "/" in name
    if not is_path:
        yield from ((each, 1) for each in known.get(name, ()) if _has_file(each, name, has_end=True))
    for path in _list_paths(name):
        if found := [each for each in known.get(path, ()) if _has_file(each, path, has_end=is_path)]:
            yield from ((each, 2) for each in found)
            return


def _has_file(case: Case, path: str, *, has_end: bool) -> bool:
    """Return whether a place of the case ends with the path; without `has_end`, that lacks the ending of its name."""
    return any(
        f"/{each if has_end else each.rpartition('.')[0]}".endswith(f"/{path}") for each in case.places
    )
