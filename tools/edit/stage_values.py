"""Values that the stages of the edit pipeline hand on, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sandbox.lazy_dataclass import dataclass
from tools.edit.edit_model import Hunk, Line, Replace
from tools.edit.indentation import indent_of, normalize_indent
from tools.edit.match.matchers import Rung, Site, Source, Step, is_distinctive
from tools.edit.splicing import LineSplice, TextSplice

Scopes = Sequence[tuple[int, int]]
"""Ranges of lines, from 0, end not included, in which a hunk may be found."""

IndentPair = tuple[str, str]
"""The model's indentation of a line, and the file's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One interpretation of an edit: two texts, or the lines of a diff.

    note: the corrections made, "" for the edit as given
    """

    old: str = ""
    new: str = ""
    note: str = ""
    marked: Hunk | None = None

    @property
    def has_surplus_newline(self) -> bool:
        """Whether only `old` ends with a newline: a slip, or a blank line that `new` has elsewhere."""
        return self.old.endswith("\n") and bool(self.new) and not self.new.endswith("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Result of `parse`: the readings of an edit, the literal one first.

    strictest: only the literal reading, and only where it occurs exactly
    doubt: why the line numbers copied into it do not decide between two readings
    """

    edit: Replace | Hunk
    readings: tuple[Reading, ...]
    strictest: bool = False
    doubt: str = ""

    @property
    def old(self) -> str:
        return self.edit.old if isinstance(self.edit, Replace) else "\n".join(self.edit.old)

    @property
    def replaces_all(self) -> bool:
        return isinstance(self.edit, Replace) and self.edit.all

    @property
    def is_tolerant(self) -> bool:
        """Whether places are searched that differ from the old text."""
        return not (self.strictest or self.replaces_all) and is_distinctive(self.old)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Result of `match`: the places of one reading at the strictest rung that has any.

    hunk: its lines
    starts: offsets of the text, if two texts are given and the old one occurs exactly; else `sites` of the lines
    step: the comparison that found the sites; None for elided and anchored lines
    scopes: where the heads of the hunk allow them; None: anywhere
    whole_lines: the text is given as whole lines
    is_part: a block's only line was found within a line
    apart: each start is a place of its own, all are changed
    """

    rung: Rung
    reading: Reading
    hunk: Hunk
    starts: tuple[int, ...] = ()
    sites: tuple[Site, ...] = ()
    step: Step | None = None
    scopes: Scopes | None = None
    whole_lines: bool = False
    is_part: bool = False
    apart: bool = False


@dataclass(frozen=True, kw_only=True)
class LineAlignment:
    """Result of `align` for whole lines: those of a hunk beside those of the file.

    reading: as it is to be applied there
    doubt: why they cannot be laid beside one another in one way only
    """

    source: Source
    reading: Reading
    hunk: Hunk
    site: Site
    rung: Rung
    doubt: str = ""

    @property
    def lines(self) -> Sequence[Line]:
        return self.hunk.lines

    @property
    def is_exact(self) -> bool:
        return self.rung is Rung.EXACT

    @cached_property
    def old_numbers(self) -> list[int]:
        """Numbers of the lines that must be in the file."""
        return [i for i, line in enumerate(self.lines) if line.op != "+"]

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The file's row of each line that was found there."""
        return {self.old_numbers[wanted]: row for wanted, row in self.site.pairs}

    @cached_property
    def indents(self) -> dict[int, IndentPair]:
        """Indentation of each found line that is not blank, the model's and the file's."""
        return {
            i: (normalize_indent(self.lines[i].text), indent_of(self.source.lines[row]))
            for i, row in self.row_of.items()
            if self.lines[i].text.strip()
        }

    @cached_property
    def new_lines(self) -> list[Line]:
        """Lines after the change that are not blank."""
        return [line for line in self.lines if line.op != "-" and line.text.strip()]

    @cached_property
    def added(self) -> list[str]:
        return [line.text for line in self.lines if line.op == "+"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAlignment:
    """Result of `align` for text that is no whole lines.

    keeps_end: the line end after it stays when it is removed
    literal: it is replaced as it is, one of all places
    """

    source: Source
    reading: Reading
    start: int
    keeps_end: bool = False
    literal: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.reading.old)


Alignment = LineAlignment | PartAlignment


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Result of `reindent`: the splices of an edit at one place.

    lines: the same as whole lines, as far as they are
    doubt: why the new text cannot be fitted to the file in one way only; there are no splices then
    """

    alignment: Alignment
    splices: tuple[TextSplice, ...] = ()
    lines: tuple[LineSplice, ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The match of an edit, and its alignment at the first of its places."""

    source: Source
    parsed: Parsed
    match: Match
    aligned: Alignment

    @property
    def start(self) -> int | None:
        """Offset of the text, if it was found exactly and not as a part of a block's line."""
        return None if self.match.is_part or not self.match.starts else self.match.starts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedEdit:
    """Result of `decide`: the rung at which an edit was found, and its splices.

    note: corrections made to the given text
    apart: each splice is a place of its own
    """

    rung: Rung
    splices: tuple[TextSplice, ...]
    note: str = ""
    apart: bool = False
