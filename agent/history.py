"""The events of one branch of a log, read as they are asked for: never all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from agent.events import Event, parse
from agent.log_index import LogIndex, place, places, track

E = TypeVar("E", bound=Event)


class History:
    """A view of a log that may grow meanwhile; each pass reads the file anew and sees the branch of that moment."""

    def __init__(self, log: Path, index: LogIndex) -> None:
        self._log = log
        self._index = index
        self.fresh: dict[int, Event] = {}
        """Events by place that were written before anybody listened: handed out as they are, not read again."""

    def __iter__(self) -> Iterator[Event]:
        return self._read(places(self.runs()))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.runs())

    def __reversed__(self) -> Iterator[Event]:
        return self._read(
            number for first, last in reversed(self.runs()) for number in range(last, first - 1, -1)
        )

    def runs(self) -> list[tuple[int, int]]:
        """(first, last) place of each run of events of the present branch, oldest first."""
        return self._index.branch(self._index.count)

    def kind(self, number: int) -> str:
        """Kind of the event at a place."""
        return self._index.kind(number)

    def only(self, *kinds: type[E], after: str = "") -> Iterator[E]:
        """The events of these classes (after the one with id `after`); no other is read."""
        names = {kind.__dataclass_fields__["kind"].default for kind in kinds}
        since = place(after) if after else 0
        wanted = (n for n in places(self.runs()) if n > since and self._index.kind(n) in names)
        return (event for event in self._read(wanted) if isinstance(event, kinds))

    def deeds(self) -> Iterator[Event]:
        """Snapshots, actions that do more than read, their observations, undoings: what became of the files."""
        return self.marked("snapshot", "action+", "observation+", "undo")

    def marked(self, *marks: str) -> Iterator[Event]:
        """The events with these marks in the index (see `log_index.KINDS`); no other is read."""
        return self._read(n for n in places(self.runs()) if self._index.mark(n) in marks)

    def marked_newest_first(self, *marks: str) -> Iterator[Event]:
        """The same from the end."""
        numbers = (n for first, last in reversed(self.runs()) for n in range(last, first - 1, -1))
        return self._read(n for n in numbers if self._index.mark(n) in marks)

    def since(self, event_id: str) -> Iterator[Event]:
        """The event with this id and those after it on the branch."""
        first = place(event_id)
        return self._read(number for number in places(self.runs()) if number >= first)

    def get(self, event_id: str) -> Event | None:
        """One event, on whatever branch it stands; None if there is none with this id."""
        try:
            number = place(event_id)
        except ValueError:
            return None
        return next(self._read(iter([number])), None) if 1 <= number <= self._index.count else None

    def unanswered(self, end: int) -> dict[str, str]:
        """Actions that had no observation when the event at place `end` was written: id → tool."""
        branch = list(places(self._index.branch(end)))
        begun = next((i for i in reversed(range(len(branch))) if self._index.kind(branch[i]) == "message"), 0)
        open_calls: dict[str, str] = {}
        for event in self._read(iter(branch[begun:])):
            track(open_calls, event)
        return open_calls

    def _read(self, numbers: Iterator[int]) -> Iterator[Event]:
        file: BinaryIO | None = None
        try:
            for number in numbers:
                if number in self.fresh:
                    yield self.fresh[number]
                    continue
                file = file or self._log.open("rb")
                start, end = self._index.span(number)
                if file.tell() != start:
                    file.seek(start)
                yield parse(file.read(end - start))
        finally:
            if file is not None:
                file.close()
