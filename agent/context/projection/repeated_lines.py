"""Repeats: runs of lines that already stand in a request are referred to, not sent again.

Agents look at the same lines again and again: a view is scrolled or opened anew, an edit shows where it was made, a
test fails as before. Lines are compared without their numbers, so that those that an edit moved are found, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.context.projection.file_views import Line

LEAST = 20
"""Bytes that a reference has to save."""

CANDIDATES = 8
"""Places of one line that are tried, the newest: `return None` stands everywhere."""

QUOTED = 24
"""Characters of a run's first line that its reference quotes, so that it can be found by eye."""


@dataclass(slots=True)
class Reference:
    """A run of lines that are not sent, since they stand above. first, last: numbers, None if they have none

    moved: first number that they had there, where that is another one
    quote: beginning of the first line; "" where the numbers say enough, because there they are lines of the same file
    """

    first: int | None
    last: int | None
    length: int
    moved: int | None
    quote: str

    def can_merge(self, after: Reference, blank: int = 0) -> bool:
        """Whether one reference can stand for `after` and this: the next lines but for blank ones, moved alike."""
        if self.first is None or after.last is None or self.first != after.last + 1 + blank or self.quote:
            return False
        return self._shift == after._shift

    def merge(self, after: Reference) -> Reference:
        """One reference for `after` and this."""
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
    """The lines that stand in the messages of a request, in their order."""

    def __init__(self) -> None:
        self._lines: list[Line | None] = []
        self._files: list[str] = []
        self._places: dict[str, list[int]] = {}
        self._end: list[str] = []

    def add_lines(self, lines: Sequence[Line], file: str = "") -> None:
        """Take in a text that is sent, of lines of a file or of none. Between two texts no run goes on."""
        for line in lines:
            if line.text.strip():
                self._places.setdefault(line.text, []).append(len(self._lines))
            self._lines.append(line)
        self._lines.append(None)
        self._files += [file] * (len(lines) + 1)

    def count_repeated_end(self, lines: Sequence[Line]) -> int:
        """How many lines at the end of an output are those that the output before it ended with."""
        end = [line.raw for line in lines[-6:]]
        before, self._end = self._end, end
        same = 0
        while same < min(len(end), len(before), len(lines) - 1) and end[-1 - same] == before[-1 - same]:
            same += 1
        return same

    def find_longest_run(self, lines: Sequence[Line], at: int) -> tuple[int, int]:
        """(length, index) of the longest run that begins with `lines[at]` and stands here already."""
        best = (0, 0)
        for place in reversed(self._places.get(lines[at].text, ())[-CANDIDATES:]):
            length = self._count_same_lines(lines, at, place)
            if length > best[0]:
                best = (length, place)
        return best

    def build_reference(self, lines: Sequence[Line], place: int, file: str = "") -> Reference:
        """What stands in the place of `lines`, which are those at `place`. file: whose lines they are, if any's"""
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
    """Whether the numbers of a run do not go on one by one here (or begin, or end): then it is another run."""
    first, here = lines[at].number, lines[at + length].number
    return here is not None if first is None else here != first + length
