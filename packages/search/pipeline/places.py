"""Likely places of a task with their source, found without a model, as one text for a prompt."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import clip

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

FILES, FUNCTIONS = 6, 12
"""Likely files and functions that are looked at: the right file is among the first five of four issues in five."""

MOST_CHARACTERS = 13_000
"""Of source in a prompt, some 3,200 tokens: a patch costs what a session spends in its first steps."""

WHOLE = 150
"""Lines of a file that is shown whole: the rest of it costs less than a second question."""

AROUND = 3
"""Lines before and after a function."""

RETRY_CHARACTERS, RETRY_WHOLE = 2_500, 60
"""Of source in the question after a failed patch, and lines of a file that is shown whole there: by then the failure
says more than further places."""

MOST_FAILURES, MOST_DETAIL = 3, 1_000
"""Failing tests that a prompt shows, and characters of each."""

_HUNK = compile_lazily(r"^@@ -(\d+)(?:,(\d+))? ")

Span = tuple[str, int, int]
"""File, and its first and last line, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Lines of a file, counted from 1."""

    path: str
    first: int
    last: int
    source: str

    def format(self) -> str:
        """Return the lines with a head that names them."""
        return f"### {self.path}, lines {self.first} to {self.last}\n```\n{self.source}\n```"


def collect_places(index: Index, text: str, room: int = MOST_CHARACTERS) -> list[Place]:
    """Return the likeliest places of a text that fit into `room` characters, in the order of files and lines."""
    return _fill_room(index, _rank_spans(index, text, WHOLE), room, WHOLE)


def collect_retry_places(
    index: Index, text: str, changed: Sequence[Span], *, is_elsewhere: bool
) -> list[Place]:
    """Return the places for another patch after a failed one, fewer than before the first.

    text: the task with the failure; changed: lines that the failed patch changed
    is_elsewhere: they are known to be the wrong place, and left out; else the functions around them come first
    """
    ranked = _rank_spans(index, text, RETRY_WHOLE)
    if is_elsewhere:
        spans: Iterator[Span] = (
            each for each in ranked if not any(_overlap(each, other) for other in changed)
        )
    else:
        spans = itertools.chain((_find_function(index, each) for each in changed), ranked)
    return _fill_room(index, spans, RETRY_CHARACTERS, RETRY_WHOLE)


def list_changed_spans(patch: str) -> list[Span]:
    """Return the lines that a patch of `git diff` changes, as they were before it."""
    found: list[Span] = []
    path = ""
    for line in patch.splitlines():
        if line.startswith("--- "):
            path = line[6:] if line.startswith("--- a/") else ""
        elif path and (hunk := _HUNK.match(line)):
            first, number = int(hunk[1]), int(hunk[2] or 1)
            # git shows three lines around each change
            found.append((path, first + min(AROUND, number // 2), first + max(0, number - 1 - AROUND)))
    return found


def _find_function(index: Index, span: Span) -> Span:
    """Return the innermost symbol around the first of some lines; lines around them where it is none, or too long."""
    path, first, last = span
    if path not in index:
        return span
    around = [each for each in index.outline(path).symbols if each.first <= first <= each.last]
    inner = min(around, key=lambda each: each.last - each.first, default=None)
    if inner is None or inner.last - inner.first > RETRY_WHOLE:
        return path, max(1, first - RETRY_WHOLE // 3), max(first, last) + RETRY_WHOLE // 3
    return path, inner.first, inner.last


def _overlap(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def _rank_spans(index: Index, text: str, whole: int) -> Iterator[Span]:
    from tools.code.localization import localize_text

    found = localize_text(index, text, files=FILES, functions=FUNCTIONS)
    return _list_spans(index, found.files, found.functions, whole)


def _fill_room(index: Index, ranked: Iterable[Span], room: int, whole: int) -> list[Place]:
    """Return the first of some places that fit into `room` characters. whole: lines of a file that is shown whole"""
    from tools.code.index.symbol_queries import is_test

    spans: dict[str, list[tuple[int, int]]] = {}
    for path, first, last in ranked:
        if path not in index:
            continue
        lines = index.read_source(path).splitlines()
        if is_test(path) or not lines:
            continue
        if len(lines) <= whole:
            first, last = 1, len(lines)
        first, last = max(1, first - AROUND), min(len(lines), last + AROUND)
        taken = _join_spans([*spans.get(path, ()), (first, last)])
        size = sum(len(line) + 1 for line in lines[first - 1 : last])
        if taken != spans.get(path) and size <= room:
            room -= size
            spans[path] = taken
    return [
        Place(path=path, first=first, last=last, source=_cut_lines(index, path, first, last))
        for path, parts in spans.items()
        for first, last in parts
    ]


def describe_failures(
    report: Mapping[str, Any], number: int = MOST_FAILURES, detail: int = MOST_DETAIL
) -> str:
    """Return the failing tests of a report with their details, "" if none fail. number: at most; detail: of each"""
    return "\n\n".join(
        f"{each.get('id')}\n{clip(str(each.get('detail') or each.get('message')), detail)}"
        for each in report.get("failures", ())[:number]
    )


def _list_spans(index: Index, files: Sequence[Any], functions: Sequence[Any], whole: int) -> Iterator[Span]:
    """Yield the places by their rank: the first file where it is small, functions, then what begins each file."""
    if files:
        lines = len(index.read_source(files[0].path).splitlines())
        if lines <= whole:
            yield files[0].path, 1, lines
    for each in functions:
        yield each.path, each.symbol.first, each.symbol.last
    for each in files:
        yield each.path, 1, min(whole, len(index.read_source(each.path).splitlines()))


def _join_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined


def _cut_lines(index: Index, path: str, first: int, last: int) -> str:
    return "\n".join(index.read_source(path).splitlines()[first - 1 : last])
