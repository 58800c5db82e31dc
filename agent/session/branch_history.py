"""Events of one branch of a log, read lazily: never all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from agent.events import Event
from agent.session.log_index import KINDS, LogIndex, expand_runs, parse_event_id, update_open_calls

SEALED = 4_096
"""Bytes at the beginning and at the end of a log that its fingerprint covers."""

E = TypeVar("E", bound=Event)


class History:
    """View of a log that may be growing; each pass reads the file again and sees the present branch.

    proceed: called before each event that is read; its exceptions end the pass
    """

    def __init__(self, log: Path, index: LogIndex, proceed: Callable[[], None] = lambda: None) -> None:
        self.proceed = proceed
        self._log = log
        self._index = index
        self.fresh: dict[int, Event] = {}
        """Events by place that were written before anyone subscribed: returned unchanged, not read again."""

    def __iter__(self) -> Iterator[Event]:
        return self._read_events(expand_runs(self.list_runs()))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.list_runs())

    def __reversed__(self) -> Iterator[Event]:
        return self._read_events(
            number for first, last in reversed(self.list_runs()) for number in range(last, first - 1, -1)
        )

    def list_runs(self) -> list[tuple[int, int]]:
        """Return (first, last) place of each run of events of the present branch, oldest first."""
        return self._index.list_branch_runs(self._index.count)

    def get_kind(self, number: int) -> str:
        """Return the kind of the event at a place."""
        return self._index.get_kind(number)

    def select_events(self, *kinds: type[E], after: str = "") -> Iterator[E]:
        """Yield the events of these classes (after the one with id `after`); no other is read."""
        names = {kind.__dataclass_fields__["kind"].default for kind in kinds}
        marks = [mark for mark in KINDS if mark.rstrip("+*") in names]
        wanted = self._find_marked_places(marks, parse_event_id(after) if after else 0)
        return (event for event in self._read_events(iter(wanted)) if isinstance(event, kinds))

    def select_file_events(self, after: int = 0) -> Iterator[Event]:
        """Yield events about files: snapshots, undos, actions that do more than read, their observations."""
        return self.select_marked_events("snapshot", "action+", "observation+", "undo", after=after)

    def select_marked_events(self, *marks: str, after: int = 0, before: int | None = None) -> Iterator[Event]:
        """Yield the events with these marks (see `log_index.KINDS`) between two places; no other is read."""
        wanted = self._find_marked_places(marks, after)
        return self._read_events(number for number in wanted if before is None or number < before)

    def select_marked_newest_first(self, *marks: str) -> Iterator[Event]:
        """Yield the events with these marks, newest first."""
        return self._read_events(reversed(self._find_marked_places(marks)))

    def find_newest_place(self, *marks: str) -> int:
        """Return the place of the newest event with one of these marks, 0 if there is none."""
        return max(self._find_marked_places(marks), default=0)

    def count_marked(self, *marks: str) -> int:
        """Return the number of events with one of these marks."""
        return len(self._find_marked_places(marks))

    def find_oldest_place(self, *marks: str, after: int = 0) -> int:
        """Return the place of the oldest such event after a place, 0 if there is none."""
        return min(self._find_marked_places(marks, after), default=0)

    def find_tail_start(self, size: int) -> int:
        """Return the place before the newest events of the branch that take up to `size` bytes."""
        for first, last in reversed(self.list_runs()):
            for number in range(last, first - 1, -1):
                size -= self.get_event_size(number)
                if size < 0:
                    return number
        return 0

    def get_event_size(self, number: int) -> int:
        """Return the size of the event at a place, in bytes."""
        start, end = self._index.get_span(number)
        return end - start

    def get_branch_size(self, *, before: int | None = None) -> int:
        """Return the size of the branch (before a place), in bytes."""
        ends = [
            (first, last if before is None else min(last, before - 1)) for first, last in self.list_runs()
        ]
        spans = [(self._index.get_span(a)[0], self._index.get_span(b)[1]) for a, b in ends if a <= b]
        return sum(end - start for start, end in spans)

    def read_events_from(self, event_id: str) -> Iterator[Event]:
        """Yield the event with this id and those after it on the branch."""
        first = parse_event_id(event_id)
        return self._read_events(number for number in expand_runs(self.list_runs()) if number >= first)

    def read_events_at(self, numbers: Sequence[int]) -> dict[int, Event]:
        """Return the events at these places. Raises ValueError if there is none at one of them."""
        if numbers and not 1 <= min(numbers) <= max(numbers) <= self.count:
            raise ValueError("no such place")
        return dict(zip(numbers, self._read_events(iter(numbers)), strict=True))

    @property
    def count(self) -> int:
        """Return the place of the last event of the log, 0 if it has none."""
        return self._index.count

    def is_on_branch(self, number: int) -> bool:
        """Whether there is an event of the present branch at a place."""
        return any(first <= number <= last for first, last in self.list_runs())

    def fingerprint_log(self, number: int) -> str:
        """Return a fingerprint of the log up to a place: its length, and a hash of its beginning and end."""
        import hashlib

        end = self._index.get_span(number)[1]
        with self._log.open("rb") as file:
            parts = file.read(min(SEALED, end))
            file.seek(max(end - SEALED, 0))
            parts += file.read(min(SEALED, end))
        return f"{end} {hashlib.sha256(parts).hexdigest()}"

    def _find_marked_places(self, marks: Collection[str], after: int = 0) -> list[int]:
        runs = ((max(first, after + 1), last) for first, last in self.list_runs())
        return [
            n
            for first, last in runs
            if first <= last
            for n in self._index.find_marked_places(marks, first, last)
        ]

    def get_event(self, event_id: str) -> Event | None:
        """Return the event with this id, on whatever branch; None if there is none."""
        try:
            number = parse_event_id(event_id)
        except ValueError:
            return None
        return next(self._read_events(iter([number])), None) if 1 <= number <= self._index.count else None

    def find_unanswered_calls(self, end: int) -> dict[str, str]:
        """Return actions without an observation when the event at place `end` was written: id → tool."""
        branch = list(expand_runs(self._index.list_branch_runs(end)))
        begun = next(
            (i for i in reversed(range(len(branch))) if self._index.get_kind(branch[i]) == "message"), 0
        )
        open_calls: dict[str, str] = {}
        for event in self._read_events(iter(branch[begun:])):
            update_open_calls(open_calls, event)
        return open_calls

    def _read_events(self, numbers: Iterator[int]) -> Iterator[Event]:
        file: BinaryIO | None = None
        at = 0
        try:
            for number in numbers:
                if number in self.fresh:
                    yield self.fresh[number]
                    continue
                self.proceed()
                from agent.session.log_lines import parse_log_line

                file = file or self._log.open("rb")
                start, end = self._index.get_span(number)
                if at != start:
                    file.seek(start)
                at = end
                yield parse_log_line(file.read(end - start), self._log, start)
        finally:
            if file is not None:
                file.close()
