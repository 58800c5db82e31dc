"""A checkpoint of a session's projection and facts: a long session is taken up again without its past being read.

It is a cache beside the log, never the truth: it names the events that the present messages are made of, and their
texts come from the log. One that is damaged, of another log or of another version is as good as none.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agent.context.ledger.session_facts import Facts
from agent.context.projection.outline import Outline
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.events import Compaction, Event, Rewind, SessionStart
from agent.session.branch_history import History
from patchwright.version import VERSION

NAME = "checkpoint.json"

NUMBER = 2
"""Of the format; raised with each change of it."""


@cache
def compute_code_stamp() -> str:
    """What a checkpoint is known to be ours by: the format, and the code. It reads facts off a log and makes messages
    of it, and another version may read off others, also one on the way to the next release."""
    code = 0
    with suppress(OSError):  # installed without its sources: then the version alone says it
        for module in sorted(Path(__file__).parents[1].rglob("*.py")):
            code = zlib.crc32(module.read_bytes(), code)
    return f"{NUMBER} {VERSION} {code:08x}"


EVERY = 512
"""Events between two checkpoints where nothing is shortened: what is read again at most after a kill."""

UNFIT = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading something that is no checkpoint of this log can come to."""

MAX_BYTES = 16 << 20
"""Of a checkpoint; a larger one is none of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanPoint:
    """A place at which all that the session had changed was committed, and the last snapshot before it."""

    at: int
    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """What a checkpoint says. at: place of the last event that it knows of; undone: compactions that hold no more"""

    at: int
    clean: CleanPoint | None
    undone: frozenset[str]
    outline: Outline
    facts: Mapping[str, Any]


class Checkpoints:
    """Writes the checkpoints of one session: after each compaction, now and then between, and at the end."""

    def __init__(self, folder: Path, history: History, projection: Projection, facts: Facts) -> None:
        self._path = folder / NAME
        self._history = history
        self._projection = projection
        self._facts = facts
        self._saved = 0
        self._due = False
        self.clean: CleanPoint | None = None

    def handle_event(self, event: Event) -> None:
        """The next event of the log, which the projection and the facts have taken in.

        What a compaction leaves is written with the event after it: one that undoes is followed by a new start.
        """
        if isinstance(event, Compaction | Rewind):
            self._due = True
        elif self._due or self._history.count - self._saved >= EVERY:
            self.save()

    def restore(self) -> SavedState | None:
        """The newest checkpoint if the log still goes on from there; None if it does not, or there is none."""
        if (known := read_checkpoint(self._path.parent, self._history)) is not None:
            self._saved, self.clean = known.at, known.clean
        return known

    def save(self) -> None:
        """Write one. What cannot be written is done without, and so is what would be as long as the log."""
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
    """What the newest checkpoint says, None if there is none from which the log goes on."""
    try:
        return _parse_checkpoint(_read_file(folder / NAME), history)
    except UNFIT:
        return None


def apply_checkpoint(known: SavedState, history: History, projection: Projection, facts: Facts) -> bool:
    """Bring both to where the checkpoint was written; False if they have to be made from the log instead."""
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
    """Raises OSError where there is no such file, or a link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_BYTES:
            raise OSError("not a checkpoint")
        return file.read()


def _write_atomically(path: Path, data: bytes) -> None:
    """In one step, for a reader never to see half of it, and through no link."""
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
