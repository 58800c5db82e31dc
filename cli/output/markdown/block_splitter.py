"""Splitter of streamed Markdown: a piece is emitted once no later text can change it."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

LONGEST_BLOCK = 6_000
"""Maximum characters of one paragraph, list or table that are held back, so that the text redrawn while it streams
is small however long the answer is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Finished part of an answer.

    kind: "block" (Markdown of one block), "code" (one line inside a fence at the margin)
    language: of the fence, "" if it names none
    first: the first line of its fence
    """

    kind: Literal["block", "code"]
    text: str
    language: str = ""
    first: bool = False


@dataclass(slots=True)
class BlockSplitter:
    """Incremental splitter: `feed` text, get finished pieces; `rest` is the unfinished one.

    A block ends at a blank line outside a code fence, unless the next line is indented under it (a list item's
    paragraphs). Lines of a fence at the margin are emitted one by one, at constant cost each.
    """

    _lines: list[str] = field(default_factory=list)  # complete lines of the open block
    _held: int = 0  # their characters
    _tail: list[str] = field(default_factory=list)  # the incomplete line, in pieces
    _fence: str = ""  # opening line of the current fence, "" outside
    _language: str = ""  # of the current fence
    _begun: bool = False  # a line of the fence was emitted
    _blank: bool = False  # the open block is followed by a blank line

    def feed(self, text: str) -> list[Piece]:
        """Add text; return the pieces that it finished."""
        self._tail.append(text)
        if "\n" in text:
            *whole, tail = "".join(self._tail).split("\n")
            self._tail = [tail]
            return [piece for line in whole for piece in self._feed_line(line)]
        if len(self._tail) > 64:
            self._tail = ["".join(self._tail)]
        return self._split_long_line()

    def close(self) -> list[Piece]:
        """End the text; return the remaining pieces."""
        tail = "".join(self._tail)
        done = self._feed_line(tail) if tail else []
        if any(line.strip() for line in self._lines):
            done += self._take_block()
        self._lines, self._tail, self._fence, self._blank, self._held = [], [], "", False, 0
        return done

    @property
    def rest(self) -> Piece:
        """The unfinished piece."""
        tail = "".join(self._tail)
        if self._is_in_margin_fence():
            return Piece("code", tail, self._language, not self._begun)
        return Piece("block", "\n".join([*self._lines, *([""] if self._blank else []), tail]))

    def _feed_line(self, line: str) -> list[Piece]:
        if self._fence:
            return self._feed_fence_line(line)
        if not line.strip():
            self._blank = bool(self._lines)
            return []
        done: list[Piece] = []
        opening = _FENCE.match(line)
        starts = opening is not None and not opening[1]  # a fence at the margin interrupts any block
        if self._lines and (starts or (self._blank and not line.startswith((" ", "\t")))):
            done = self._take_block()
        elif self._blank:
            self._lines.append("")
        self._blank = False
        if opening:
            self._fence, self._begun = line, False
            self._language = _parse_language(opening[3])
        if starts:
            return done
        self._append_line(line)
        return done + (self._take_block() if self._held > LONGEST_BLOCK and not self._fence else [])

    def _feed_fence_line(self, line: str) -> list[Piece]:
        ends = line.lstrip(" \t").startswith(("```", "~~~")) and self._is_closed_by(line)
        if not self._is_in_margin_fence():
            self._fence = "" if ends else self._fence
            self._append_line(line)
            return []
        first, self._begun = not self._begun, True
        if ends:
            self._fence = ""
            return [Piece("code", "", self._language, first=True)] if first else []
        return [Piece("code", line, self._language, first)]

    def _is_closed_by(self, line: str) -> bool:
        """Return whether a line closes the open fence."""
        opening, closing = _FENCE.match(self._fence), _FENCE.match(line)
        assert opening is not None
        same = closing is not None and closing[2][0] == opening[2][0] and len(closing[2]) >= len(opening[2])
        return same and closing is not None and not closing[3].strip()

    def _split_long_line(self) -> list[Piece]:
        """Emit an overlong incomplete line up to its last space."""
        if self._is_in_margin_fence() or sum(map(len, self._tail)) <= LONGEST_BLOCK:
            return []
        tail = "".join(self._tail)
        head, space, rest = tail.rpartition(" ")
        if not space or not head.strip():
            head, rest = tail, ""
        self._tail = [rest]
        self._append_line(head)
        return self._take_block()

    def _is_in_margin_fence(self) -> bool:
        """Return whether a fence at the margin is open. (An indented one belongs to the list item above it.)"""
        return bool(self._fence) and not self._fence.startswith((" ", "\t"))

    def _append_line(self, line: str) -> None:
        self._lines.append(line)
        self._held += len(line) + 1

    def _take_block(self) -> list[Piece]:
        block, self._lines, self._held = "\n".join(self._lines), [], 0
        return [Piece("block", block)]


def _parse_language(info: str) -> str:
    words = info.split()
    return words[0].strip("{}.") if words else ""


_FENCE = compile_lazily(r"^([ \t]*)(`{3,}|~{3,})(.*)$")
"""(indentation, fence, info)."""
