"""Markdown cut into blocks while it streams: a block is given out once nothing that follows can change it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST_FENCE = 60
"""Lines of a code block that are held back at most; then it is given out in parts, so that what is redrawn
while it streams stays small however long the answer is."""


@dataclass(slots=True)
class Blocks:
    """Feed it text, get finished blocks; `rest` is what is not finished yet.

    A block ends at a blank line outside a code fence, unless what follows is indented under it (a
    list item's paragraphs); a fence ends with its closing line.
    """

    _lines: list[str] = field(default_factory=list)  # whole lines of the open block
    _tail: str = ""  # the line that is still coming
    _fence: str = ""  # the opening line of the fence we are in, "" outside
    _blank: bool = False  # the open block is followed by a blank line

    def feed(self, text: str) -> list[str]:
        """Take in text; return the blocks that it finished."""
        *whole, self._tail = (self._tail + text).split("\n")
        return [block for line in whole for block in self._line(line)]

    def close(self) -> list[str]:
        """The end of the text: everything left is finished."""
        done = self._line(self._tail) if self._tail else []
        if any(line.strip() for line in self._lines):
            done += self._take()
        self._lines, self._tail, self._fence, self._blank = [], "", "", False
        return done

    @property
    def rest(self) -> str:
        """The unfinished block."""
        return "\n".join([*self._lines, *([""] if self._blank else []), self._tail])

    def _line(self, line: str) -> list[str]:
        if self._fence:
            return self._in_fence(line)
        if not line.strip():
            self._blank = bool(self._lines)
            return []
        done: list[str] = []
        opening = _FENCE.match(line)
        starts = opening is not None and not opening[1]  # a fence at the margin interrupts any block
        if self._lines and (starts or (self._blank and not line.startswith((" ", "\t")))):
            done = self._take()
        elif self._blank:
            self._lines.append("")
        self._blank = False
        self._lines.append(line)
        if opening:
            self._fence = line
        return done

    def _in_fence(self, line: str) -> list[str]:
        self._lines.append(line)
        opening, closing = _FENCE.match(self._fence), _FENCE.match(line)
        assert opening is not None
        same = closing is not None and closing[2][0] == opening[2][0] and len(closing[2]) >= len(opening[2])
        if same and closing is not None and not closing[3].strip():
            nested, self._fence = bool(opening[1]), ""
            return [] if nested else self._take()
        if len(self._lines) > LONGEST_FENCE and not opening[1]:
            fence, part = self._fence, self._take()
            self._lines = [fence]
            return [f"{part[0]}\n{opening[2]}"]
        return []

    def _take(self) -> list[str]:
        block, self._lines = "\n".join(self._lines), []
        return [block]


_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})(.*)$")
"""(indentation, fence, info). An indented fence belongs to the list item above it."""
