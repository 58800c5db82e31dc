"""Repeats: runs of lines that already stand in a request are referred to, not sent again.

Agents look at the same lines again and again: a view is scrolled or opened anew, an edit shows where it was made, a
test fails as before. Lines are compared without their numbers, so that those that an edit moved are found, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.views import Line

LEAST = 60
"""Bytes that a reference has to save."""

CANDIDATES = 8
"""Places of one line that are tried, the newest: `return None` stands everywhere."""

QUOTED = 40
"""Characters of a run's first line that its reference quotes, so that it can be found by eye."""


class Visible:
    """The lines that stand in the messages of a request, in their order."""

    def __init__(self) -> None:
        self._lines: list[Line | None] = []
        self._places: dict[str, list[int]] = {}
        self._end: list[str] = []

    def see(self, lines: Sequence[Line]) -> None:
        """Take in a text that is sent. Between two texts no run goes on."""
        for line in lines:
            if line.text.strip():
                self._places.setdefault(line.text, []).append(len(self._lines))
            self._lines.append(line)
        self._lines.append(None)

    def ends(self, lines: Sequence[Line]) -> int:
        """How many lines at the end of an output are those that the output before it ended with."""
        end = [line.raw for line in lines[-6:]]
        before, self._end = self._end, end
        same = 0
        while same < min(len(end), len(before), len(lines) - 1) and end[-1 - same] == before[-1 - same]:
            same += 1
        return same

    def longest(self, lines: Sequence[Line], at: int) -> tuple[int, int]:
        """(length, index) of the longest run that begins with `lines[at]` and stands here already."""
        best = (0, 0)
        for place in self._places.get(lines[at].text, ())[-CANDIDATES:]:
            length = self._same(lines, at, place)
            if length > best[0]:
                best = (length, place)
        return best

    def reference(self, lines: Sequence[Line], place: int) -> str:
        """What stands in the place of `lines`, which are those at `place`."""
        first, before = lines[0], self._lines[place]
        quote = " ".join(first.text.split())[:QUOTED]
        if len(lines) == 1:
            return f'[… as above: "{quote}" …]'
        if first.number is None:
            return f'[… {len(lines)} lines as above, from "{quote}" …]'
        last = lines[-1].number
        moved = before.number if before is not None and before.number not in (None, first.number) else None
        was = f" (there {moved}–{moved + len(lines) - 1})" if moved is not None else ""
        return f'[… {first.number}–{last} as above{was}, from "{quote}" …]'

    def _same(self, lines: Sequence[Line], at: int, place: int) -> int:
        length = 0
        while at + length < len(lines) and place + length < len(self._lines):
            known, line = self._lines[place + length], lines[at + length]
            if known is None or known.text != line.text or _jumps(lines, at, length):
                break
            length += 1
        return length


def _jumps(lines: Sequence[Line], at: int, length: int) -> bool:
    """Whether the numbers of a run do not go on one by one here (or begin, or end): then it is another run."""
    first, here = lines[at].number, lines[at + length].number
    return here is not None if first is None else here != first + length
