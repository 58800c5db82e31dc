"""What the terminal at the other end can show, and text cut to fit it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

NO_TERMINAL_WIDTH = 100
"""Columns where nobody has any: a log file, a pipe. Wide enough for a path, narrow enough for a web page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Facts about one output stream.

    tty: a terminal is at the other end; dumb: it understands no control sequences
    colour: colours and bold are understood (a theme says which there are); unicode: marks such as ● can be encoded
    """

    tty: bool
    dumb: bool
    colour: bool
    unicode: bool
    columns: int
    rows: int

    @classmethod
    def from_stream(cls, stream: TextIO, env: Mapping[str, str] = os.environ) -> Terminal:
        """Look at a stream and the environment (`TERM`)."""
        tty = stream.isatty()
        dumb = env.get("TERM", "") in ("", "dumb", "unknown")
        columns, rows = _read_size(stream) if tty else (NO_TERMINAL_WIDTH, 24)
        return cls(
            tty=tty,
            dumb=dumb,
            colour=tty and not dumb,
            unicode=(stream.encoding or "").lower().replace("_", "-").startswith("utf"),
            columns=columns,
            rows=rows,
        )


def measure_columns(text: str) -> int:
    """Columns that `text` takes: wide characters two, combining ones none. Close enough to cut text."""
    if text.isascii():
        return len(text)
    return sum(_measure_character(character) for character in text)


def truncate_text(text: str, width: int, *, ellipsis: str = "…") -> str:
    """`text` in at most `width` columns, cut at the end with an ellipsis."""
    if measure_columns(text) <= width:
        return text
    room, kept = max(width, 1) - measure_columns(ellipsis), 0
    for index, character in enumerate(text):
        kept += _measure_character(character)
        if kept > room:
            return text[:index] + ellipsis
    return text


def wrap_characters(text: str, width: int) -> list[str]:
    """Every line of `text` broken at exactly the width, so that nothing is lost, moved or added."""
    lines = []
    for line in text.split("\n"):
        start = taken = 0
        for index, character in enumerate(line):
            taken += _measure_character(character)
            if taken > max(width, 2) and index > start:
                lines.append(line[start:index])
                start, taken = index, _measure_character(character)
        lines.append(line[start:])
    return lines


def wrap_hanging(line: str, width: int, indent: str) -> list[str]:
    """A line that may hold colours in at most `width` columns a row; all but the first row begin with `indent`.

    It is broken behind a space near the end of a row, else exactly at the width. A row's colours end with it.
    """
    parts = re.split(_SGR, line)
    if measure_columns("".join(parts[::2])) <= width:
        return [line]
    rows, row, taken, state = list[str](), "", 0, ""
    for number, part in enumerate(parts):
        if number % 2:
            state = "" if part in _PLAIN else state + part
            row += part
            continue
        while (room := width - taken) < measure_columns(part):
            head = _cut_head(part, room, first=not taken or row == indent + state)
            rows.append(row + head + ("\x1b[0m" if state else ""))
            part, row, taken = part[len(head) :], indent + state, len(indent)
        row += part
        taken += measure_columns(part)
    return [*rows, row]


_SGR = r"(\x1b\[[0-9;]*m)"

_PLAIN = ("\x1b[0m", "\x1b[m")

_NEAR = 16
"""Columns that a row may stay short so that it ends between two words."""


def _cut_head(text: str, room: int, *, first: bool) -> str:
    """As much of a text as goes into so many columns; at least a character where nothing stands in the row yet."""
    taken = fits = 0
    for character in text:
        taken += _measure_character(character)
        if taken > room:
            break
        fits += 1
    if text[fits : fits + 1] == " " and fits:
        return text[:fits]
    space = text.rfind(" ", max(fits - _NEAR, 0), fits)
    if space > 0 and text[:space].strip():
        return text[: space + 1]
    return text[: max(fits, 1 if first else 0)]


def wrap_words(text: str, width: int) -> str:
    """Prose with each line broken between words to fit; its indentation is kept."""
    import textwrap

    def wrap_line(line: str) -> str:
        indent = line[: len(line) - len(line.lstrip())]
        return "\n".join(textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)) or line

    return "\n".join(wrap_line(line) for line in text.split("\n"))


def _read_size(stream: TextIO) -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):  # a stream without a descriptor
        return NO_TERMINAL_WIDTH, 24
    return columns or 80, rows or 24  # some serial lines say 0 by 0


def _measure_character(character: str) -> int:
    if character.isascii():
        return 1
    if character in "\u200b\u200c\u200d" or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
