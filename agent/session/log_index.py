"""Index of a log's events by byte offset, in a small file, so that a long log opens without being read.

It is a cache: rebuilt from the log if missing, outdated or inconsistent. `log.index` holds eight bytes per
event (offset in the log and kind), `log.state.json` the state at the last of them.
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
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from agent.events import ActionEvent, Compaction, Event, MessageEvent, ObservationEvent, Rewind
from sandbox.lazy_dataclass import dataclass

CHECKPOINT = 512
"""Events between two writes of the index: at most as many are read again after a kill."""

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
    "child",
    "chain",
    "attempt",
    "candidate",
    "choice",
    "requirements",
    "spec-check",
    "rubric",
    "merge",
    "finding",
    "goal",
    "guidance",
    "attempt-stop",
)
"""Kinds by their number in the index; append new ones at the end. The first is used for all kinds not listed.

With a plus: actions that do more than read, observations with changes or notes, and summaries; with a star:
compactions that opening a session needs even from before its last summary.
"""

_VERSION = 3
_CODE_BITS = 8

_SHORT = 256
"""Events that are looked through one by one: a pattern takes longer to compile."""


@dataclass(slots=True)
class LogIndex:
    """The events of one log by their place, counted from 1, and its branches.

    rewinds: (place of the rewind event, place it went back to), in order
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
        """Add the next event, written as `line`."""
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
        """Return the byte range of an event's line: start, end (exclusive)."""
        end = self.entries[number] >> _CODE_BITS if number < self.count else self.size
        return self.entries[number - 1] >> _CODE_BITS, end

    def get_kind(self, number: int) -> str:
        """Return the kind of an event, "" if the index has no number for it."""
        return self.get_mark(number).rstrip("+*")

    def get_mark(self, number: int) -> str:
        """Return the kind of an event with its plus or star, if any."""
        return KINDS[self.entries[number - 1] & (1 << _CODE_BITS) - 1]

    def find_marked_places(self, marks: Collection[str], first: int, last: int) -> list[int]:
        """Return the places from `first` to `last` of the events with these marks."""
        codes = bytes(KINDS.index(mark) for mark in marks)
        if not codes:
            return []
        kinds = self.entries[first - 1 : last].tobytes()[0 if sys.byteorder == "little" else 7 :: 8]
        if len(kinds) < _SHORT:  # no pattern is compiled
            return [first + place for place, code in enumerate(kinds) if code in codes]
        return [first + found.start() for found in re.finditer(b"[" + re.escape(codes) + b"]", kinds)]

    def list_branch_runs(self, end: int) -> list[tuple[int, int]]:
        """Return (first, last) of each run of events that lead to the one at `end`, itself included, in order."""
        runs: list[tuple[int, int]] = []
        for began, target in reversed(self.rewinds):
            if began <= end:
                runs.append((began, end))
                end = target
        runs.append((1, end))
        return [run for run in reversed(runs) if run[1] >= run[0]]

    def save(self) -> None:
        """Write the new entries. Write errors are ignored: it is a cache."""
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
    """Load the saved index of the log open as `file`; an empty one if there is none that fits."""
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
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
        OverflowError,
    ):
        return LogIndex(path)
    fits = len(line) == end - start and line.endswith(b"\n") and zlib.crc32(line) == state["check"]
    return found if fits else LogIndex(path)


def parse_event_id(event_id: str) -> int:
    """Return the place in an event's id. Raises ValueError if it is no id."""
    if not event_id.startswith("e"):
        raise ValueError(f"not the id of an event: {event_id!r}")
    return int(event_id[1:])


def update_open_calls(open_calls: dict[str, str], event: Event) -> None:
    """Update `open_calls` (id → tool), the actions without an observation so far."""
    if isinstance(event, MessageEvent):
        open_calls.update({action.id: action.tool for action in event.actions})
    elif isinstance(event, ActionEvent):
        open_calls.setdefault(event.call, event.tool)
    elif isinstance(event, ObservationEvent):
        open_calls.pop(event.call, None)


def expand_runs(runs: list[tuple[int, int]]) -> Iterator[int]:
    """Yield each place of the runs of a branch, in order."""
    for first, last in runs:
        yield from range(first, last + 1)


def _state_path(path: Path) -> Path:
    return path.with_name("log.state.json")
