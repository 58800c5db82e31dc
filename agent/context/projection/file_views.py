"""File views in outputs: recognise numbered lines by their form, and find the lines that can be left out.

Left out are the insides of long docstrings and comments, and bodies far from the requested lines; headings of
definitions, short bodies and all that the focus points at are kept (`focus`). A view covers an explicit range, the
surroundings of one line, or a file from its top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent.context.projection.focus import Points
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from agent.context.projection.definitions import Definition

MIN_VIEW = 30
"""Numbered lines from which a view is worth shortening."""

SMALL = 150
"""Lines of a file that is sent complete when it is read completely."""

LARGEST = 200_000
"""Characters of a text whose lines are kept for the next time: no output of a tool is longer."""

MIN_GAP = 3
"""Lines whose omission is worth the note in their place."""

TOP = 8
"""Lines at the top of a file that are kept when no range was requested: its purpose and imports."""

NEAR = 5
"""Lines kept on each side of the requested ones, in addition to the enclosing definition."""

LONGEST = 30
"""Lines of that definition kept after the requested ones."""

POINTED_AT = 80
"""Lines kept of a definition that the focus points at, or around the requested line, its docstring included."""

SHORT = 6
"""Lines of a definition that stays whole: to leave it out saves little, and the next edit may be there."""

PROSE = (".md", ".rst", ".txt", ".adoc", ".html")
"""Suffixes of files without comments, whose headings do not summarise the text below them."""

_NOTHING = Points()
_NUMBERED = compile_lazily(r"\s*(\d+)(?:[:|\t]|→)(.*)", re.DOTALL)
_QUOTES = compile_lazily(r"[rRbBuUfF]{0,2}(\"\"\"|''')")
_STATEMENT = compile_lazily(
    r"\s*(?:def |class |return\b|raise |import |from \S+ import |@\w|try:|else:|(?:if|for|while|with|elif) .*:$"
    r"|self\.\w+ ?=|[\w.]+ = )"
)
_COMMENT = compile_lazily(r"\s*(?:#(?=[\s#]|$)|//|/\*|--\s)")
_BLOCK_COMMENT = compile_lazily(r"\s*/\*")
_IN_BLOCK = compile_lazily(r"\s*\*")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a view. number: as printed, None if none; text: without the number; raw: unchanged"""

    number: int | None
    text: str
    raw: str


def parse_lines(text: str) -> tuple[Line, ...]:
    """Parse the lines of an output."""
    return _parse_retained(text) if len(text) <= LARGEST else tuple(_iterate_lines(text))


@lru_cache(maxsize=128)  # each compaction parses the retained outputs again
def _parse_retained(text: str) -> tuple[Line, ...]:
    return tuple(_iterate_lines(text))


def _iterate_lines(text: str) -> Iterator[Line]:
    for raw in text.split("\n"):
        match = _NUMBERED.match(raw) if raw.lstrip()[:1].isdigit() else None
        yield Line(int(match[1]), match[2], raw) if match else Line(None, raw, raw)


def find_elidable_lines(
    lines: Sequence[Line], data: Mapping[str, Any], points: Points = _NOTHING
) -> set[int]:
    """Return the indices of the lines of a view that can be left out. data: facts of the output.

    `asked` in `data` gives the first and last requested line; without it the view is from the top.
    points: names and lines whose definitions stay
    """
    from agent.context.projection.definitions import find_definitions, find_lists, is_heading

    start, end = _find_view(lines)
    small, prose = 0 < (data.get("lines") or 0) <= SMALL, str(data.get("path", "")).lower().endswith(PROSE)
    if end - start < MIN_VIEW or small or prose:
        return set()
    view, asked = lines[start:end], _get_requested_range(data)
    if "diff" in data:
        return _find_far_lines(view, start, asked)
    texts = [line.text for line in view]
    definitions = find_definitions(texts)
    whole = {i for i, line in enumerate(view) if asked is not None and _is_within(line, *asked)}
    whole |= _find_pointed_at(view, definitions, asked, points)
    near = whole | set(_find_nearby_range(view, asked))
    out = {i for block in _find_comment_blocks(view) for i in block if i not in whole}
    if sum(is_heading(text) for i, text in enumerate(texts) if i not in near) > 1:
        kept = [range(each.start, each.end) for each in definitions if each.end - each.start <= SHORT]
        near.update(i for each in (*kept, *find_lists(texts)) for i in each)
        out.update(i for i, text in enumerate(texts) if i not in near and not is_heading(text))
    return {start + i for run in group_runs(out) if len(run) >= MIN_GAP for i in run}


def group_runs(indices: set[int]) -> Iterator[range]:
    """Group adjacent indices into ranges, in order."""
    start = before = None
    for i in sorted(indices):
        if before is None or i != before + 1:
            if start is not None and before is not None:
                yield range(start, before + 1)
            start = i
        before = i
    if start is not None and before is not None:
        yield range(start, before + 1)


def _find_view(lines: Sequence[Line]) -> tuple[int, int]:
    """Return the longest stretch of consecutively numbered lines."""
    best = (0, 0)
    at = 0
    while at < len(lines):
        end = at + 1
        number = lines[at].number
        while number is not None and end < len(lines) and lines[end].number == number + end - at:
            end += 1
        if number is not None and end - at > best[1] - best[0]:
            best = (at, end)
        at = end
    return best


def _get_requested_range(data: Mapping[str, Any]) -> tuple[int, int] | None:
    asked = data.get("asked")
    if isinstance(asked, list | tuple) and len(asked) == 2 and all(isinstance(each, int) for each in asked):
        return asked[0], asked[1]
    return None


def _find_far_lines(view: Sequence[Line], start: int, asked: tuple[int, int] | None) -> set[int]:
    """Return the indices of an edit's view that are far from the change."""
    if asked is None:
        return set()
    first, last = asked[0] - NEAR, asked[1] + NEAR
    far = {start + i for i, line in enumerate(view) if not _is_within(line, first, last)}
    return {i for run in group_runs(far) if len(run) >= MIN_GAP for i in run}


def _find_pointed_at(
    view: Sequence[Line], definitions: Sequence[Definition], asked: tuple[int, int] | None, points: Points
) -> set[int]:
    """Return the indices of definitions that the focus names or points into, and of the one around the request."""
    found: set[int] = set()
    for each in definitions:
        if each.name in points.names:
            found.update(range(each.start, min(each.end, each.start + POINTED_AT)))
    top = view[0].number or 0
    at = [line - top for line in points.lines]
    for i in at:
        found.update(range(max(i - NEAR, 0), min(i + NEAR + 1, len(view))))
    if asked is not None:
        at.append(min(max(asked[0] - top, 0), len(view) - 1))
    for i in at:
        if around := [each for each in definitions if each.start <= i < each.end]:
            found.update(range(around[-1].start, min(around[-1].end, i + POINTED_AT)))
    return found


def _find_nearby_range(view: Sequence[Line], asked: tuple[int, int] | None) -> range:
    """Return the indices to keep: the requested lines with their surroundings, and the enclosing definition."""
    from agent.context.projection.definitions import is_heading, measure_indent

    top = view[0].number or 0
    if asked is None:
        return range(TOP)
    first, last = max(asked[0] - top, 0), min(max(asked[1] - top, 0), len(view) - 1)
    start = end = min(first, len(view) - 1)
    while start > 0 and not is_heading(view[start].text):
        start -= 1
    depth = measure_indent(view[start].text)
    end = max(last, start) + 1
    while end < len(view) and not (is_heading(view[end].text) and measure_indent(view[end].text) <= depth):
        end += 1
    return range(max(min(start, first - NEAR), 0), max(min(end, last + LONGEST), last + NEAR))


def _is_within(line: Line, first: int, last: int) -> bool:
    return line.number is not None and first <= line.number <= last


def _find_comment_blocks(view: Sequence[Line]) -> Iterator[range]:
    """Yield the insides of docstrings and of long comments."""
    at = 0
    ended = _find_docstring_end(view)
    if ended:
        yield range(ended)
        at = ended + 1
    while at < len(view):
        text = view[at].text.strip()
        if (quotes := _QUOTES.match(text)) and _is_docstring_start(view, at):
            end = at + 1 if text.count(quotes[1]) > 1 else _find_closing_quotes(view, at + 1, quotes[1])
            yield range(at + (1 if len(text) > len(quotes[0]) else 2), max(end - 1, at))
            at = end
        elif _COMMENT.match(view[at].text):
            goes_on = _IN_BLOCK if _BLOCK_COMMENT.match(view[at].text) else _COMMENT
            end = at + 1
            while end < len(view) and goes_on.match(view[end].text):
                end += 1
            yield range(at + 2, end)
            at = end
        else:
            at += 1


def _find_docstring_end(view: Sequence[Line]) -> int:
    """Return the end of a docstring that began above the view; 0 if the view does not begin in one."""
    for at, line in enumerate(view):
        if "'''" in line.text or '"""' in line.text:
            alone = line.text.strip() in ("'''", '"""')
            return at if alone and not any(_STATEMENT.match(each.text) for each in view[:at]) else 0
    return 0


def _is_docstring_start(view: Sequence[Line], at: int) -> bool:
    """Whether quotes are at the beginning of a docstring: under a heading, or at the top of a file."""
    above = at - 1
    while above >= 0 and (not view[above].text.strip() or _COMMENT.match(view[above].text)):
        above -= 1
    return view[above].text.rstrip().endswith(":") if above >= 0 else view[0].number == 1


def _find_closing_quotes(view: Sequence[Line], at: int, quotes: str) -> int:
    """Return the index after the line that ends the docstring, or that of the view's end."""
    while at < len(view) and quotes not in view[at].text:
        at += 1
    return min(at + 1, len(view))
