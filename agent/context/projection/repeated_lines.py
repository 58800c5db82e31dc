"""Repeated lines: runs that a request already contains become references.

Agents see the same lines again and again: a view is scrolled or reopened, an edit shows its surroundings, a
test fails as before. Lines are compared without their numbers, so that lines moved by an edit are found, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent.context.projection.file_views import Line
from sandbox.lazy_dataclass import dataclass

LEAST = 20
"""Bytes that a reference has to save."""

CANDIDATES = 8
"""Positions of one line that are tried, the newest: `return None` occurs everywhere."""

QUOTED = 24
"""Characters of a run's first line that its reference quotes, so that the reader can find it."""


@dataclass(slots=True)
class Reference:
    """A run of lines replaced by a reference to earlier ones. first, last: line numbers, None if unnumbered

    moved: first line number of the earlier run, if different
    quote: beginning of the first line; "" where line numbers of the same file suffice
    """

    first: int | None
    last: int | None
    length: int
    moved: int | None
    quote: str

    def can_merge(self, after: Reference, blank: int = 0) -> bool:
        """Return whether one reference can cover `after` and this: adjacent but for blank lines, equally moved."""
        if self.first is None or after.last is None or self.first != after.last + 1 + blank or self.quote:
            return False
        return self._shift == after._shift

    def merge(self, after: Reference) -> Reference:
        """Return one reference that covers `after` and this."""
        assert self.last is not None
        assert after.first is not None
        return replace(after, last=self.last, length=self.last - after.first + 1)

    @property
    def _shift(self) -> int:
        return self.moved - self.first if self.moved is not None and self.first is not None else 0

    def __str__(self) -> str:
        if self.first is None or self.last is None:
            lines = f"{self.length} lines " if self.length > 1 else ""
            return f'[… {lines}as above: "{self.quote}" …]'
        moved = f" (there {self.moved}–{self.moved + self.length - 1})" if self.moved is not None else ""
        quote = f', from "{self.quote}"' if self.quote else ""
        return f"[… {self.first}–{self.last} as above{moved}{quote} …]"


class VisibleLines:
    """Lines of the messages of a request, in order."""

    def __init__(self) -> None:
        self._lines: list[Line | None] = []
        self._files: list[str] = []
        self._places: dict[str, int | list[int]] = {}  # most lines come once: a list takes more than the line
        self._end: list[str] = []

    def add_lines(self, lines: Sequence[Line], file: str = "") -> None:
        """Add a text that is sent, from a file or not. No run extends over two texts."""
        for line in lines:
            if line.text.strip():
                self._add_place(line.text, len(self._lines))
            self._lines.append(line)
        self._lines.append(None)
        self._files += [file] * (len(lines) + 1)

    def _add_place(self, text: str, place: int) -> None:
        before = self._places.setdefault(text, place)
        if isinstance(before, list):
            before.append(place)
        elif before != place:
            self._places[text] = [before, place]

    def count_repeated_end(self, lines: Sequence[Line]) -> int:
        """Return the number of lines at the end of an output that also end the previous output."""
        end = [line.raw for line in lines[-6:]]
        before, self._end = self._end, end
        same = 0
        while same < min(len(end), len(before), len(lines) - 1) and end[-1 - same] == before[-1 - same]:
            same += 1
        return same

    def find_longest_run(self, lines: Sequence[Line], at: int) -> tuple[int, int]:
        """Return (length, index) of the longest earlier run that begins with `lines[at]`."""
        best = (0, 0)
        places = self._places.get(lines[at].text, [])
        for place in reversed(places[-CANDIDATES:] if isinstance(places, list) else [places]):
            length = self._count_same_lines(lines, at, place)
            if length > best[0]:
                best = (length, place)
        return best

    def build_reference(self, lines: Sequence[Line], place: int, file: str = "") -> Reference:
        """Return the reference for `lines`, which repeat those at `place`. file: source file, "" if none"""
        first, before = lines[0], self._lines[place]
        known = before.number if before is not None else None
        found = bool(file) and file == self._files[place] and known is not None
        return Reference(
            first=first.number,
            last=lines[-1].number,
            length=len(lines),
            moved=known if known not in (None, first.number) and first.number is not None else None,
            quote="" if found else " ".join(first.text.split())[:QUOTED],
        )

    def _count_same_lines(self, lines: Sequence[Line], at: int, place: int) -> int:
        length = 0
        while at + length < len(lines) and place + length < len(self._lines):
            known, line = self._lines[place + length], lines[at + length]
            if known is None or known.text != line.text or _is_run_broken(lines, at, length):
                break
            length += 1
        return length


def _is_run_broken(lines: Sequence[Line], at: int, length: int) -> bool:
    """Return whether the numbering of a run is interrupted here (or starts, or ends)."""
    first, here = lines[at].number, lines[at + length].number
    return here is not None if first is None else here != first + length
