"""Terminal capabilities, and text measured, truncated and wrapped to fit."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from typing import TextIO

from sandbox.lazy_dataclass import dataclass

NO_TERMINAL_WIDTH = 100
"""Columns without a terminal (a log file, a pipe): wide enough for a path, narrow enough for a web page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Capabilities of one output stream.

    tty: the stream is a terminal; dumb: it understands no control sequences
    colour: colours and bold are supported (the theme defines them); unicode: marks such as ● can be encoded
    (and the stream is no dumb terminal)
    """

    tty: bool
    dumb: bool
    colour: bool
    unicode: bool
    columns: int
    rows: int

    @classmethod
    def from_stream(cls, stream: TextIO, env: Mapping[str, str] = os.environ) -> Terminal:
        """Detect the capabilities from a stream and the environment (`TERM`)."""
        tty = stream.isatty()
        dumb = env.get("TERM", "") in ("", "dumb", "unknown")
        columns, rows = _read_size(stream) if tty else (NO_TERMINAL_WIDTH, 24)
        return cls(
            tty=tty,
            dumb=dumb,
            colour=tty and not dumb,
            unicode=not (tty and dumb)
            and (stream.encoding or "").lower().replace("_", "-").startswith("utf"),
            columns=columns,
            rows=rows,
        )


def measure_columns(text: str) -> int:
    """Return the columns of `text`: wide characters two, combining ones none. Close enough to truncate text."""
    if text.isascii():
        return len(text)
    return sum(_measure_character(character) for character in text)


def truncate_text(text: str, width: int, *, ellipsis: str = "…") -> str:
    """Return `text` in at most `width` columns, truncated at the end with an ellipsis."""
    if measure_columns(text) <= width:
        return text
    room, kept = max(width, 1) - measure_columns(ellipsis), 0
    for index, character in enumerate(text):
        kept += _measure_character(character)
        if kept > room:
            return text[:index] + ellipsis
    return text


def wrap_characters(text: str, width: int) -> list[str]:
    """Break every line of `text` at exactly the width; nothing is lost, moved or added."""
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
    """Wrap a line that may contain colours into rows of at most `width` columns; all but the first begin with `indent`.

    It is broken after a space near the end of a row, else exactly at the width. Colours are reset at the end of a row.
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


def split_columns(text: str, width: int) -> list[str]:
    """Break a text into rows of at most `width` columns, after a space near the end of a row, else exactly there."""
    rows = []
    while measure_columns(text) > width:
        head = _cut_head(text, width, first=True)
        rows.append(head)
        text = text[len(head) :]
    return [*rows, text]


_SGR = r"(\x1b\[[0-9;]*[mK])"

_PLAIN = ("\x1b[0m", "\x1b[m")

_NEAR = 16
"""Maximum columns that a row may be short of the width to end between two words."""


def _cut_head(text: str, room: int, *, first: bool) -> str:
    """Return the head of a text that fits into `room` columns; at least one character if the row is empty (`first`)."""
    taken = fits = 0
    for character in text:
        taken += _measure_character(character)
        if taken > room:
            break
        fits += 1
    if text[fits : fits + 1] == " " and fits:
        return text[:fits]
    start, end = text.rfind(" ", 0, fits) + 1, text.find(" ", fits)
    word = text[start:] if end < 0 else text[start:end]
    is_address = "://" in word and measure_columns(word) <= room  # and fits into the next row
    space = start - 1 if is_address else text.rfind(" ", max(fits - _NEAR, 0), fits)
    if space > 0 and text[:space].strip():
        return text[: space + 1]
    return text[: max(fits, 1 if first else 0)]


def wrap_words(text: str, width: int) -> str:
    """Wrap each line of prose between words, keeping its indentation."""
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
    return columns or 80, rows or 24  # some serial lines report 0 by 0


def _measure_character(character: str) -> int:
    if character.isascii():
        return 1
    if character in "\u200b\u200c\u200d" or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
