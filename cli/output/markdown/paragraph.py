"""Paragraphs of words, code and emphasis, without a Markdown parser: most of an answer, at a tenth of the cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cli.output.style.terminal import measure_columns
from cli.output.style.theme import get_sgr_parameters, has_colours
from sandbox.lazy_pattern import compile_lazily

READABLE_WIDTH = 100
"""Maximum columns of prose: longer lines are hard to read, however wide the terminal is."""

Span = tuple[str, str]
"""(SGR parameters, text)."""


def render_paragraph(text: str, width: int, *, colour: bool) -> str | None:
    """Return the rows of a paragraph; None if it may be anything that needs the parser. `text` is sanitized."""
    if _OTHER.search(text) or _STARTS.search(text):
        return None
    spans = _parse_spans(text.replace("\n", " "))
    if spans is None:
        return None
    plain = "".join([part for _, part in spans])
    if measure_columns(plain) <= width:
        return _paint_spans(spans, colour=colour)
    breaks = _find_breaks(plain, width)
    if breaks is None:
        return None
    return "\n".join([_paint_spans(row, colour=colour) for row in _cut_spans(spans, breaks)])


_OTHER = compile_lazily(r"[\\\[\]<>&~|\t]|  |(?<!\w)_|_(?!\w)|\n |^ | $|^\n|\n$|\n\n")
"""Links, HTML, entities, escapes, tables, underscores that may emphasize, space that may mean something."""

_STARTS = compile_lazily(r"^(?:[#>=+-]|\*(?!\*\w)|\d{1,9}[.)](?:\s|$)|```)", re.M)
"""Beginnings of a heading, quote, list, rule or fence."""

_SPAN = compile_lazily(
    r"(?<![`\w])`(?! )(?P<code>[^`]+)(?<! )`(?!`)"
    r"|(?:^|(?<=[ (]))(?P<mark>\*{1,2})(?P<words>\w(?:[^*`]*\w)?)(?P=mark)(?=[ .,;:!?)]|$)"
)


def _parse_spans(text: str) -> list[Span] | None:
    """Return the spans of a line; None if a mark is left over."""
    spans, place = list[Span](), 0
    for match in _SPAN.finditer(text):
        if match.start() > place:
            spans.append(("", text[place : match.start()]))
        if code := match["code"]:
            spans.append((get_sgr_parameters("cyan") if has_colours() else "1", code))
        else:
            spans.append(("1" if match["mark"] == "**" else "3", match["words"]))
        place = match.end()
    if place < len(text):
        spans.append(("", text[place:]))
    left = any(not sgr and ("*" in part or "`" in part) for sgr, part in spans)
    return None if left else spans


def _find_breaks(plain: str, width: int) -> list[tuple[int, int]] | None:
    """Return (start, end) of each row, broken between words; None if a word is wider than a row."""
    rows, start, end, taken = [], 0, 0, 0
    for match in _WORDS.finditer(plain):
        columns = measure_columns(match[0])
        if columns > width:
            return None
        gap = match.start() - end
        if end and taken + gap + columns > width:
            rows.append((start, end))
            start, taken, gap = match.start(), 0, 0
        end = match.end()
        taken += gap + columns
    return [*rows, (start, end)]


_WORDS = compile_lazily(r"[^ ]+")


def _cut_spans(spans: Sequence[Span], rows: Sequence[tuple[int, int]]) -> Iterator[list[Span]]:
    """Yield the spans of each row."""
    for start, end in rows:
        row, place = [], 0
        for sgr, part in spans:
            first, last = max(start - place, 0), min(end - place, len(part))
            if first < last:
                row.append((sgr, part[first:last]))
            place += len(part)
        yield row


def _paint_spans(spans: Sequence[Span], *, colour: bool) -> str:
    if not colour:
        return "".join([part for _, part in spans])
    return "".join([f"\x1b[{sgr}m{part}\x1b[0m" if sgr else part for sgr, part in spans])
