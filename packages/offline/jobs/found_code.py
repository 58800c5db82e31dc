"""Code that a question speaks of, found by the index: numbered excerpts of at most 3,000 tokens."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent.context.profile.profiles import CHARACTERS_PER_TOKEN
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.index.symbol_queries import FoundDefinition

MOST_TOKENS = 3_000
ROOM = int(MOST_TOKENS * CHARACTERS_PER_TOKEN)
"""Characters of all excerpts."""

SHARE = 7
"""One excerpt may take this part of the room: else a long function leaves none for the right one."""

MOST_EXCERPTS = 9
"""Excerpts: a number of one digit, and more of them only distract models of this size."""

NEAR_LINES = 3
"""Lines before and after a line that has the words of a question."""

MOST_SYMBOLS, MOST_RANKED = 6, 4_000
"""Definitions that are found by their words, and files whose definitions are looked at."""

_ENDING = compile_lazily(r"(?:ies|es|s|ing|ed|e|er|ers)$")
_EVERYWHERE = frozenset(
    re.findall(
        r"\w+",
        "the how what which where when why who are does function class method exception code file that with from and "
        "for its into return called many much most decid implement",
    )
)
"""Words of questions that say nothing of what is asked for."""

MOST_NAMED = 3
"""Definitions of one name that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines of a file. symbol: what they define, "" for lines that only have the words"""

    path: str
    first: int
    last: int
    symbol: str
    source: str

    @property
    def place(self) -> str:
        """Path and line, as a person is told."""
        return f"{self.path}:{self.first}"


def find_excerpts(index: Index, text: str, names: Sequence[str], room: int = ROOM) -> list[Excerpt]:
    """Return the likeliest excerpts for a question, the likeliest first. names: of code, in the question"""
    kept: list[Excerpt] = []
    for each in _rank_excerpts(index, text, names, room // SHARE):
        size = len(each.source) + len(each.path) + len(each.symbol) + 20
        if size > room or any(_covers(other, each) for other in kept):
            continue
        kept.append(each)
        room -= size
        if len(kept) >= MOST_EXCERPTS:
            break
    return kept


def format_excerpts(excerpts: Sequence[Excerpt]) -> str:
    """Return excerpts for a prompt, each with its number."""
    return "\n\n".join(
        f"[{number}] {each.path}{f' — {each.symbol}' if each.symbol else ''}\n{each.source}"
        for number, each in enumerate(excerpts, 1)
    )


def _rank_excerpts(index: Index, text: str, names: Sequence[str], most: int) -> Iterator[Excerpt]:
    from tools.code.index.parsing.identifier_words import count_words
    from tools.code.index.symbol_queries import find_definitions, is_test
    from tools.code.localization import localize_text

    symbols: list[Excerpt] = []
    for name in names:
        for each in [found for found in find_definitions(index, name) if not is_test(found.path)][
            :MOST_NAMED
        ]:
            yield _cut(index, each.path, each.symbol.first, each.symbol.last, each.symbol.name, most)
    for symbol in rank_symbols(index, text)[:MOST_SYMBOLS]:
        first, last = symbol.symbol.first, symbol.symbol.last
        if symbol.symbol.kind == "variable":  # its neighbours tell what it is for
            first, last = max(1, first - NEAR_LINES), last + NEAR_LINES
        symbols.append(_cut(index, symbol.path, first, last, symbol.symbol.name, most))
    found = localize_text(index, text, files=6, functions=8)
    functions = [
        _cut(index, each.path, each.symbol.first, each.symbol.last, each.symbol.name, most)
        for each in found.functions
        if not is_test(each.path)
    ]
    files = [each.path for each in found.files if not is_test(each.path)]
    lines = [
        _cut(index, path, max(1, line - NEAR_LINES), line + NEAR_LINES, "", most)
        for path, line in _find_lines(index, files, set(count_words(text)))
    ]
    for row in itertools.zip_longest(
        symbols, functions, lines
    ):  # by turns: each finds what the others do not
        yield from (each for each in row if each is not None)


def rank_symbols(index: Index, text: str) -> list[FoundDefinition]:
    """Return the definitions whose names, and first lines of documentation, have the rare words of a text."""
    from tools.code.index.symbol_queries import FoundDefinition, is_test

    wanted = {each for each in _list_stems(text) if len(each) > 2 and each not in _EVERYWHERE}
    paths = [each for each in index.code if not is_test(each)][:MOST_RANKED]
    named = [
        (FoundDefinition(path=path, symbol=symbol), _list_stems(symbol.name), _list_stems(symbol.doc))
        for path, outline in index.outlines(paths).items()
        for symbol in outline.symbols
    ]
    having = Counter(word for _, name, doc in named for word in wanted & (name | doc))
    scored = []
    for found, name, doc in named:
        weight = sum(_weigh(len(named), having[word]) for word in wanted & name)
        weight += sum(_weigh(len(named), having[word]) / 2 for word in wanted & (doc - name))
        if weight:
            scored.append((-weight / math.sqrt(3 + len(name)), found.path, found.symbol.first, found))
    return [each[-1] for each in sorted(scored, key=lambda each: each[:3])]


def _weigh(count: int, having: int) -> float:
    return math.log(1 + count / having)


def _list_stems(text: str) -> set[str]:
    """Return the words of a text, names split, without the endings of plurals and verbs."""
    from tools.code.index.parsing.identifier_words import count_words

    return {_ENDING.sub("", each) if len(each) > 4 else each for each in count_words(text)}


def _find_lines(index: Index, paths: Sequence[str], words: set[str]) -> list[tuple[str, int]]:
    """Return the lines that have most words of a question, two at least, the best first."""
    from tools.code.index.parsing.identifier_words import count_words

    scored = []
    for rank, path in enumerate(paths):
        for number, line in enumerate(index.read_source(path).splitlines(), 1):
            if len(line) <= 300 and (shared := len(words & count_words(line).keys())) >= 2:
                scored.append((-shared, rank, number, path))
    return [(path, number) for _, _, number, path in sorted(scored)[:6]]


def _cut(index: Index, path: str, first: int, last: int, symbol: str, most: int) -> Excerpt:
    lines = index.read_source(path).splitlines()[first - 1 : last]
    kept: list[str] = []
    left = most
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return Excerpt(
        path=path, first=first, last=first + max(0, len(kept) - 1), symbol=symbol, source="\n".join(kept)
    )


def _covers(one: Excerpt, other: Excerpt) -> bool:
    return one.path == other.path and one.first <= other.first and other.last <= one.last
