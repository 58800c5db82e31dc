"""What every edit format is parsed into, and the engine applies: changes of files, made of hunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Op = Literal[" ", "-", "+"]
"""What a line of a hunk is: context, removed, added."""


class Line(NamedTuple):
    """One line of a hunk, without its line ending."""

    op: Op
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Text to find and what to put there, as one string each, with "\\n" for line endings.

    whole_lines: both are whole lines, each ended by "\\n" (a SEARCH/REPLACE block); else `old` may be a part of one
    all: replace every exact occurrence
    """

    old: str
    new: str
    whole_lines: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of a diff: context, removed and added, in order.

    heads: lines that stand before the hunk, outermost first (`@@ class Cart` in the patch format)
    start: line number, from 1, at which the old lines are said to stand (without any: that of the line before which
        the new ones go); None when nothing says so
    counted: the counts in the hunk's header are those of its lines, so that `start` may be believed
    at_end: the old lines are the last ones of the file (`*** End of File`)
    no_newline: the file ends without a newline before ("-"), after ("+") or both (" "); "" when not said
    appends: as the patch format has it, added lines end with a newline, and go to the end of the file when
        there is neither an old line nor a head
    given: the marks of the lines were given; False: they were worked out from two texts, and may be again
    """

    lines: tuple[Line, ...]
    heads: tuple[str, ...] = ()
    start: int | None = None
    counted: bool = False
    at_end: bool = False
    no_newline: Literal["", " ", "-", "+"] = ""
    appends: bool = False
    given: bool = True

    @property
    def old(self) -> tuple[str, ...]:
        """The lines that have to be there."""
        return tuple(text for op, text in self.lines if op != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines that stand there afterwards."""
        return tuple(text for op, text in self.lines if op != "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A range of lines, numbered from 1, both ends included, and the text to put there."""

    first: int
    last: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A function, method or class by its qualified name ("Cart.total"), and the text to put in its place."""

    name: str
    new: str


Edit = Replace | Hunk | Lines | Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Edits of one file, in the order in which they were given. to: where the file moves, "" if it stays.

    mode: permission bits to set, None to keep them
    """

    path: str
    edits: tuple[Edit, ...]
    to: str = ""
    mode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A whole file.

    mode: permission bits of a new one, None for the usual ones
    new: the format says that no file is there yet (a unified diff does); one that is there is not replaced
    """

    path: str
    content: str
    mode: int | None = None
    new: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """A file to remove. hunks: what it is said to contain, when the format tells (a unified diff does)."""

    path: str
    hunks: tuple[Hunk, ...] = ()


FileChange = Update | Create | Delete


class MalformedEdit(ValueError):
    """A text that is no edit in any known format, or a broken one.

    The message says what is wrong, at which line, and shows what it should look like.
    """
