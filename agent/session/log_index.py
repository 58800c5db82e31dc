"""Where each event of a log stands: a small file beside it, so that a long log opens without being read.

It is a cache: made again from the log when it is missing, older, or does not fit. `log.index` holds eight bytes an
event (offset in the log and kind), `log.state.json` what is known at the last of them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from array import array
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from agent.events import ActionEvent, Compaction, Event, MessageEvent, ObservationEvent, Rewind

CHECKPOINT = 512
"""Events between two writes of the index: what a kill leaves to be read again."""

KINDS = (
    "",
    "session",
    "prompt",
    "steer",
    "message",
    "action",
    "decision",
    "observation",
    "snapshot",
    "plan",
    "compaction",
    "verification",
    "signal",
    "error",
    "end",
    "rewind",
    "fork",
    "title",
    "side-call",
    "undo",
    "action+",
    "observation+",
    "compaction+",
    "compaction*",
)
"""Kinds by their number in the index; new ones go to the end. The first stands for those that are not here.

With a plus: actions that do more than read, the observations that tell what they changed or what was noted, and
summaries; with a star:
compactions that opening a session has to know of even before its last summary.
"""

_VERSION = 3
_CODE_BITS = 8


@dataclass(slots=True)
class LogIndex:
    """The events of one log by their place, counted from 1, and the branches that they form.

    rewinds: (place of the event that went back, place it went back to), in order
    unanswered: actions of the present branch without an observation, id → tool
    """

    path: Path
    entries: array[int] = field(default_factory=lambda: array("Q"))
    size: int = 0
    rewinds: list[tuple[int, int]] = field(default_factory=list)
    unanswered: dict[str, str] = field(default_factory=dict)
    _acting: set[str] = field(default_factory=set)
    _saved: int = 0
    _last: bytes = b""

    @property
    def count(self) -> int:
        return len(self.entries)

    def add_event(self, event: Event, line: bytes) -> None:
        """Take in the next event, written as `line`."""
        name = event.kind + self._compute_mark_suffix(event)
        kind = KINDS.index(name) if name in KINDS else 0
        self.entries.append(self.size << _CODE_BITS | kind)
        self.size += len(line)
        self._last = line
        if isinstance(event, Rewind):
            self.rewinds.append((self.count, parse_event_id(event.to)))
        else:
            update_open_calls(self.unanswered, event)

    def _compute_mark_suffix(self, event: Event) -> str:
        if isinstance(event, ActionEvent) and event.effect not in ("none", "read"):
            self._acting.add(event.call)
            return "+"
        if isinstance(event, ObservationEvent):
            told = any(event.data.get(each) for each in ("changed", "commit", "note"))
            acted = event.call in self._acting or told
            self._acting.discard(event.call)
            return "+" if acted else ""
        if isinstance(event, Compaction):
            return "+" if event.stage == "summary" else "*" if event.undoes or event.masked else ""
        return ""

    def get_span(self, number: int) -> tuple[int, int]:
        """First byte of an event's line and the byte after it."""
        end = self.entries[number] >> _CODE_BITS if number < self.count else self.size
        return self.entries[number - 1] >> _CODE_BITS, end

    def get_kind(self, number: int) -> str:
        """Kind of an event, "" for one that the index has no number for."""
        return self.get_mark(number).rstrip("+*")

    def get_mark(self, number: int) -> str:
        """The same, with its plus or star if it has one."""
        return KINDS[self.entries[number - 1] & (1 << _CODE_BITS) - 1]

    def find_marked_places(self, marks: Collection[str], first: int, last: int) -> list[int]:
        """Places from `first` to `last` of the events with these marks."""
        codes = bytes(KINDS.index(mark) for mark in marks)
        if not codes:
            return []
        kinds = self.entries[first - 1 : last].tobytes()[0 if sys.byteorder == "little" else 7 :: 8]
        return [first + found.start() for found in re.finditer(b"[" + re.escape(codes) + b"]", kinds)]

    def list_branch_runs(self, end: int) -> list[tuple[int, int]]:
        """The events that lead to the one at `end`, itself included: (first, last) of each run, oldest first."""
        runs: list[tuple[int, int]] = []
        for began, target in reversed(self.rewinds):
            if began <= end:
                runs.append((began, end))
                end = target
        runs.append((1, end))
        return [run for run in reversed(runs) if run[1] >= run[0]]

    def save(self) -> None:
        """Write what is new. A cache that cannot be written is done without."""
        if not self.count or self._saved == self.count:
            return
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "r+b") as file:
                file.truncate(8 * self._saved)
                file.seek(8 * self._saved)
                file.write(self.entries[self._saved :].tobytes())
            self._write_state()
            self._saved = self.count

    def _write_state(self) -> None:
        state = {
            "version": _VERSION,
            "count": self.count,
            "size": self.size,
            "check": zlib.crc32(self._last),
            "rewinds": self.rewinds,
            "unanswered": self.unanswered,
        }
        target = _state_path(self.path)
        draft = target.with_suffix(".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(state, file)
        draft.replace(target)


def load_index(log: Path, file: BinaryIO) -> LogIndex:
    """The index as it was last written; an empty one if there is none that fits the log, open as `file`."""
    path = log.with_name("log.index")
    try:
        state = json.loads(_state_path(path).read_bytes())
        entries = array("Q")
        with path.open("rb") as stored:
            entries.frombytes(stored.read(8 * state["count"]))
        if state["version"] != _VERSION or len(entries) != state["count"]:
            return LogIndex(path)
        found = LogIndex(
            path,
            entries,
            state["size"],
            [(began, target) for began, target in state["rewinds"]],
            dict(state["unanswered"]),
            _acting=set(state["unanswered"]),
            _saved=len(entries),
        )
        start, end = found.get_span(found.count)
        file.seek(start)
        line = file.read(end - start)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return LogIndex(path)
    fits = len(line) == end - start and line.endswith(b"\n") and zlib.crc32(line) == state["check"]
    return found if fits else LogIndex(path)


def parse_event_id(event_id: str) -> int:
    """The place that an event's id names. Raises ValueError if it is no id."""
    if not event_id.startswith("e"):
        raise ValueError(f"not the id of an event: {event_id!r}")
    return int(event_id[1:])


def update_open_calls(open_calls: dict[str, str], event: Event) -> None:
    """Keep `open_calls` (id → tool) to the actions that no observation has answered yet."""
    if isinstance(event, MessageEvent):
        open_calls.update({action.id: action.tool for action in event.actions})
    elif isinstance(event, ActionEvent):
        open_calls.setdefault(event.call, event.tool)
    elif isinstance(event, ObservationEvent):
        open_calls.pop(event.call, None)


def expand_runs(runs: list[tuple[int, int]]) -> Iterator[int]:
    """Each place of the runs of a branch, in order."""
    for first, last in runs:
        yield from range(first, last + 1)


def _state_path(path: Path) -> Path:
    return path.with_name("log.state.json")
