"""A range of lines of a file: limited in lines and characters, read in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from sandbox.lazy_dataclass import dataclass
from tools.core.action import ToolFailure
from tools.core.text import MAX_LINE, clip, format_count

DEFAULT_LINES = 400
"""Lines shown when no end is given: most files completely, enough of long ones to decide where to look."""

MAX_CHARACTERS = 22_000
"""Characters shown at once, a little under the gateway's limit, so that it never cuts a range."""

_PIECE = 1 << 16
"""Bytes of a line held in memory at once: a file may be one line of 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """Numbered lines `first` to `last`.

    total: lines of the whole file, None when counting would mean reading very much more
    """

    text: str
    first: int
    last: int
    total: int | None
    more: bool

    def describe_extent(self) -> str:
        """Describe the range for a headline: "42 lines", or "lines 1–400 of 2,310"."""
        if self.first == 1 and not self.more:
            return format_count(self.last, "line")
        of = f" of {self.total:,}" if self.total is not None else ""
        return f"lines {self.first}–{self.last}{of}"


def read_line_range(
    stream: BinaryIO, start: int, end: int | None, *, tool: str, count: bool = True
) -> LineRange:
    """Read the lines from `start` to `end`. `count`: read on to the end to count all lines.

    Raises ToolFailure when `start` and `end` do not fit each other or the file.
    """
    if start < 1 or (end is not None and end < start):
        raise ToolFailure(f"{tool}: start must be 1 or more, and end not before it (got {start}, {end})")
    wanted = end if end is not None else start + DEFAULT_LINES - 1
    shown: list[str] = []
    used = number = 0
    full = False
    for number, (line, length) in enumerate(_iterate_lines(stream), 1):
        if number < start:
            continue
        if number > wanted or full:
            if not count:
                break
            continue
        text = f"{number}\t{_format_line(line, length)}"
        used += len(text) + 1
        if used > MAX_CHARACTERS and shown:
            full = True
            continue
        shown.append(text)
    if not shown and number:
        raise ToolFailure(
            f"{tool}: start={start} is beyond the end: there are {format_count(number, 'line')}"
        )
    last = start + len(shown) - 1
    more = number > last
    return LineRange(
        text="\n".join(shown), first=start, last=last, total=number if count or not more else None, more=more
    )


def _iterate_lines(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield each line's beginning and its full length in bytes, without the newline."""
    while piece := stream.readline(_PIECE):
        length = len(piece)
        rest = piece
        while not rest.endswith(b"\n") and (rest := stream.readline(_PIECE)):
            length += len(rest)
        if piece.endswith(b"\n"):
            yield piece.rstrip(b"\r\n"), length - 1
        else:
            yield piece, length - rest.endswith(b"\n")


def _format_line(line: bytes, length: int) -> str:
    text = line.decode("utf-8", "replace")
    if length > len(line) + 1:  # `line` is only the beginning: its length is known in bytes
        return f"{text[:MAX_LINE]} [… {length - MAX_LINE:,} more bytes]"
    return clip(text)
