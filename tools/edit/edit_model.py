"""Data model of edits: changes of files, made of hunks, into which every edit format is parsed."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, NamedTuple

from sandbox.lazy_dataclass import dataclass

Op = Literal[" ", "-", "+"]
"""Kind of a hunk line: context, removed, added."""


class Line(NamedTuple):
    """One line of a hunk, without its line ending."""

    op: Op
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Text to find and its replacement, as one string each, with "\\n" for line endings.

    whole_lines: both are whole lines, each ended by "\\n" (a SEARCH/REPLACE block); else `old` may be a part
        of one
    all: replace every exact occurrence
    """

    old: str
    new: str
    whole_lines: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of a diff: context, removed and added, in order.

    heads: lines that precede the hunk, outermost first (`@@ class Cart` in the patch format)
    start: stated line number, from 1, of the old lines (without any: of the line before which the new ones
        are inserted); None if not stated
    counted: the counts in the hunk's header match its lines, so that `start` can be trusted
    at_end: the old lines are the last ones of the file (`*** End of File`)
    no_newline: the file has no final newline before ("-"), after ("+") or both (" "); "" when not stated
    appends: as in the patch format, added lines end with a newline, and are appended to the file when there
        is neither an old line nor a head
    given: the marks of the lines were given; False: they were computed from two texts, and may be recomputed
    section: number of the header of the file above it, where a text has several for one file: a later one builds
        on the earlier ones
    """

    lines: tuple[Line, ...]
    heads: tuple[str, ...] = ()
    start: int | None = None
    counted: bool = False
    at_end: bool = False
    no_newline: Literal["", " ", "-", "+"] = ""
    appends: bool = False
    given: bool = True
    section: int = field(default=0, compare=False)

    @property
    def old(self) -> tuple[str, ...]:
        """Lines that must be in the file: context and removed ones."""
        return tuple(text for op, text in self.lines if op != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """Lines after the change: context and added ones."""
        return tuple(text for op, text in self.lines if op != "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A range of lines, numbered from 1, both ends included, and its replacement."""

    first: int
    last: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A function, method or class by its qualified name ("Cart.total"), and its replacement."""

    name: str
    new: str


Edit = Replace | Hunk | Lines | Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Edits of one file, in the given order.

    to: new path if the file moves, "" if it does not
    copies: the file does not move to the new path, but a copy of it does
    mode: permission bits to set, None to keep them
    """

    path: str
    edits: tuple[Edit, ...]
    to: str = ""
    copies: bool = False
    mode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Creation or replacement of a whole file.

    mode: permission bits of a new file, None for the default
    new: the format says that the file does not exist yet (a unified diff does); an existing one is not
        replaced, even if the author knows it
    """

    path: str
    content: str
    mode: int | None = None
    new: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Removal of a file. hunks: its content as the format states it (a unified diff does)."""

    path: str
    hunks: tuple[Hunk, ...] = ()


FileChange = Update | Create | Delete


class MalformedEdit(ValueError):
    """A text that is no edit in any known format, or a malformed one.

    The message names the problem and its line, and shows the expected form.
    """
