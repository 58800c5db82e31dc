"""What a transaction writes down before it touches anything, so that another process can end it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from sandbox.fs.dirfd_walk import translate_write_errors
from sandbox.fs.text_file import compute_fingerprint

Stage = Literal["intent", "commit"]
"""The name of the record's file. intent: nothing is changed yet; commit: everything is to be."""


class Step(NamedTuple):
    """One file of a transaction.

    path: from the root, links followed, but never that of a link to be removed
    temporary: name of the file beside it that holds the new content, "" when the file is to be removed
    before, after: fingerprints of the content, None for no file
    """

    path: str
    temporary: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole transaction. folders: those that it makes, parents first."""

    steps: tuple[Step, ...]
    folders: tuple[str, ...]

    def dump(self) -> bytes:
        """A line with the fingerprint of the rest, then JSON."""
        body = json.dumps({"steps": self.steps, "folders": self.folders}).encode()
        return f"{compute_fingerprint(body)}\n".encode() + body

    @staticmethod
    def load(raw: bytes) -> Record:
        """What `dump` wrote. Raises ValueError for anything else."""
        seal, _, body = raw.partition(b"\n")
        if seal != compute_fingerprint(body).encode():
            raise ValueError("the record is damaged")
        fields = json.loads(body)
        try:
            steps = tuple(Step(*step) for step in fields["steps"])
            return Record(steps=steps, folders=tuple(fields["folders"]))
        except (KeyError, TypeError) as error:  # whole, but of another version
            raise ValueError(f"the record cannot be understood: {error}") from None


class Journal:
    """The folder with the lock and the record of one tree; there is never more than one record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lock(self) -> BinaryIO:
        """Wait until nobody else works on the tree; closing what is returned lets the next one in."""
        import fcntl

        with translate_write_errors(str(self._folder)):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open(self._folder / "lock", "ab", opener=_open_private)  # noqa: SIM115 - the caller closes it
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except BaseException:  # an interrupt while waiting
                lock.close()
                raise
        return lock

    def write(self, record: Record, *, durable: bool) -> None:
        """Put the record down as an intent. durable: also for a machine that loses power right after."""
        draft = self._folder / _DRAFT
        with translate_write_errors(str(self._folder)):
            with open(draft, "wb", opener=_open_private) as file:
                file.write(record.dump())
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            draft.rename(self._folder / "intent")

    def mark_commit(self) -> None:
        """From here on the transaction is to be finished: one rename, and it lasts."""
        with translate_write_errors(str(self._folder)):
            (self._folder / "intent").rename(self._folder / "commit")
            handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def find_record(self) -> tuple[Stage, Record | ValueError] | None:
        """The record that a transaction left, or why it cannot be read."""
        names = os.listdir(self._folder)
        if _DRAFT in names:
            self._clear_draft()
        for stage in _STAGES:
            if stage in names:
                try:
                    return stage, Record.load((self._folder / stage).read_bytes())
                except ValueError as error:
                    return stage, error
                except OSError as error:  # a folder of that name, a bad sector
                    return stage, ValueError(error.strerror)
        return None

    def set_aside(self, stage: Stage) -> str:
        """Give the record a name that is not looked for; returns its path."""
        place = self._folder / f"{stage}-{os.urandom(6).hex()}"
        with translate_write_errors(str(self._folder)):
            (self._folder / stage).rename(place)
        return str(place)

    def clear(self) -> None:
        """The transaction has ended: drop its record."""
        with translate_write_errors(str(self._folder)):
            for stage in _STAGES:
                (self._folder / stage).unlink(missing_ok=True)

    def _clear_draft(self) -> None:
        with translate_write_errors(str(self._folder)):
            (self._folder / _DRAFT).unlink(missing_ok=True)


_STAGES: tuple[Stage, ...] = ("commit", "intent")

_DRAFT = "intent.tmp"
"""A record that is being written: until it has its real name nothing else was touched."""


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
