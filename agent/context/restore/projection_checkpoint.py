"""Checkpoint of a session's projection and facts: a long session is resumed without reading its past.

It is a cache beside the log, never the source of truth: it names the source events of the current messages,
and their texts come from the log. A damaged checkpoint, or one of another log or version, is ignored.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.events import Compaction, Event, Rewind, SessionStart
from agent.session.branch_history import History
from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.context.projection.outline import Outline

NAME = "checkpoint.json"

NUMBER = 2
"""Format number; increased with each change of the format."""


@cache
def compute_code_stamp() -> str:
    """Return the stamp that identifies compatible checkpoints: format number, version, and a checksum of this code.

    The code derives facts and messages from the log, and another version may derive others, also one between
    releases.
    """
    code = 0
    with suppress(OSError):  # installed without sources: the version alone has to do
        for module in sorted(Path(__file__).parents[1].rglob("*.py")):
            code = zlib.crc32(module.read_bytes(), code)
    return f"{NUMBER} {VERSION} {code:08x}"


EVERY = 512
"""Events between two checkpoints without a compaction: the most that is read again after a kill."""

UNFIT = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors raised by reading a file that is no checkpoint of this log."""

MAX_BYTES = 16 << 20
"""Maximum size of a checkpoint; larger files are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPoint:
    """A position at which all changes of the session were committed, and the last snapshot before it."""

    at: int
    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """Content of a checkpoint. at: position of the last event that it covers; undone: compactions that were undone"""

    at: int
    clean: CleanPoint | None
    undone: frozenset[str]
    outline: Outline
    facts: Mapping[str, Any]


class Checkpoints:
    """Writes the checkpoints of one session: after each compaction, periodically in between, and at the end."""

    def __init__(self, folder: Path, history: History, projection: Projection, facts: Facts) -> None:
        self._path = folder / NAME
        self._history = history
        self._projection = projection
        self._facts = facts
        self._saved = 0
        self._due = False
        self.clean: CleanPoint | None = None

    def handle_event(self, event: Event) -> None:
        """Handle the next event of the log, after the projection and the facts did.

        The checkpoint for a compaction is written with the event after it: an undoing one is followed by a restart.
        """
        if isinstance(event, Compaction | Rewind):
            self._due = True
        elif self._due or self._history.count - self._saved >= EVERY:
            self.save()

    def restore(self) -> SavedState | None:
        """Return the newest checkpoint if the log continues it; otherwise None."""
        if (known := read_checkpoint(self._path.parent, self._history)) is not None:
            self._saved, self.clean = known.at, known.clean
        return known

    def save(self) -> None:
        """Write a checkpoint. Skipped if it would be as long as the log; write errors are ignored."""
        at = self._history.count
        self._due = False
        if at == self._saved or self._projection.byte_count > NEVER_SENT:
            return
        known = {
            "undone": sorted(self._projection.undone),
            **self._projection.build_outline().as_data(),
            "facts": self._facts.as_data(files=None),
            "clean": [self.clean.at, self.clean.tree] if self.clean else None,
        }
        body = json.dumps(known, separators=(",", ":")).encode()
        with suppress(OSError):
            head = {
                "format": compute_code_stamp(),
                "at": at,
                "log": self._history.fingerprint_log(at),
                "sum": _compute_checksum(body),
            }
            _write_atomically(self._path, json.dumps(head).encode() + b"\n" + body)
            self._saved = at


def read_checkpoint(folder: Path, history: History) -> SavedState | None:
    """Return the newest checkpoint that the log continues, None if there is none."""
    try:
        return _parse_checkpoint(_read_file(folder / NAME), history)
    except UNFIT:
        return None


def apply_checkpoint(known: SavedState, history: History, projection: Projection, facts: Facts) -> bool:
    """Restore both from the checkpoint; False if they have to be rebuilt from the log instead."""
    since = history.select_events(Compaction, after=f"e{known.at}")
    if any(event.undoes for event in since):
        return False
    try:
        events = history.read_events_at(known.outline.list_places())
        projection.clear(known.undone)
        for event in history.select_events(SessionStart):
            if int(event.id[1:]) <= known.at:
                projection.add_event(event)
        projection.rebuild(known.outline, events)
        facts.clear()
        facts.load(known.facts)
    except UNFIT:
        return False
    return True


def _parse_checkpoint(data: bytes, history: History) -> SavedState | None:
    from agent.context.projection.outline import Outline

    head_line, _, body = data.partition(b"\n")
    head = json.loads(head_line)
    at = head["at"]
    if (
        head["format"] != compute_code_stamp()
        or not isinstance(at, int)
        or head["sum"] != _compute_checksum(body)
    ):
        return None
    if not history.is_on_branch(at) or history.fingerprint_log(at) != head["log"]:
        return None
    known = json.loads(body)
    clean = CleanPoint(at=int(known["clean"][0]), tree=str(known["clean"][1])) if known["clean"] else None
    return SavedState(
        at=at,
        clean=clean if clean and clean.at <= at and history.is_on_branch(clean.at) else None,
        undone=frozenset(map(str, known["undone"])),
        outline=Outline.from_data(known),
        facts=dict(known["facts"]),
    )


def _read_file(path: Path) -> bytes:
    """Read a regular file. Raises OSError if it is missing, a link, or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            raise OSError("not a checkpoint")
        return file.read()


def _write_atomically(path: Path, data: bytes) -> None:
    """Replace a file atomically, without following links."""
    draft = path.with_suffix(".new")
    with suppress(FileNotFoundError):
        draft.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
        file.write(data)
    draft.replace(path)


def _compute_checksum(body: bytes) -> str:
    import hashlib

    return hashlib.sha256(body).hexdigest()
