"""Likely places of a task with their source, found without a model, as one text for a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.core.text import clip

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

FILES, FUNCTIONS = 6, 12
"""Likely files and functions that are looked at: the right file is among the first five of four issues in five."""

MOST_CHARACTERS = 14_000
"""Of source in a prompt, some 3,500 tokens: a patch costs what a session spends in its first steps."""

WHOLE = 150
"""Lines of a file that is shown whole: the rest of it costs less than a second question."""

AROUND = 3
"""Lines before and after a function."""

MOST_FAILURES, MOST_DETAIL = 3, 1_200
"""Failing tests that a prompt shows, and characters of each."""


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
    from tools.code.index.symbol_queries import is_test
    from tools.code.localization import localize_text

    found = localize_text(index, text, files=FILES, functions=FUNCTIONS)
    spans: dict[str, list[tuple[int, int]]] = {}
    for path, first, last in _list_spans(index, found.files, found.functions):
        lines = index.read_source(path).splitlines()
        if is_test(path) or not lines:
            continue
        if len(lines) <= WHOLE:
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


def describe_failures(report: Mapping[str, Any]) -> str:
    """Return the failing tests of a report with their details, "" if none fail."""
    return "\n\n".join(
        f"{each.get('id')}\n{clip(str(each.get('detail') or each.get('message')), MOST_DETAIL)}"
        for each in report.get("failures", ())[:MOST_FAILURES]
    )


def _list_spans(
    index: Index, files: Sequence[Any], functions: Sequence[Any]
) -> Iterator[tuple[str, int, int]]:
    """Yield the places by their rank: the first file where it is small, functions, then what begins each file."""
    if files:
        lines = len(index.read_source(files[0].path).splitlines())
        if lines <= WHOLE:
            yield files[0].path, 1, lines
    for each in functions:
        yield each.path, each.symbol.first, each.symbol.last
    for each in files:
        yield each.path, 1, min(WHOLE, len(index.read_source(each.path).splitlines()))


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
