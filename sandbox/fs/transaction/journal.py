"""Journal of a transaction, written before any change, so that another process can finish or undo it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from sandbox.errors import translate_write_errors
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.text_file import compute_fingerprint
from sandbox.lazy_dataclass import dataclass

Stage = Literal["intent", "commit"]
"""The name of the record's file. intent: nothing is changed yet; commit: all changes must be completed."""


class Step(NamedTuple):
    """One file of a transaction.

    path: relative to the root, links resolved (not those of a link to be removed)
    temporary: file name in the same folder with the new content, "" if the file is to be removed
    before, after: fingerprints of the content, None for no file
    """

    path: str
    temporary: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A whole transaction. folders: those that it creates, parents first"""

    steps: tuple[Step, ...]
    folders: tuple[str, ...]

    def dump(self) -> bytes:
        """Return one line with the fingerprint of the rest, then JSON."""
        body = json.dumps({"steps": self.steps, "folders": self.folders}).encode()
        return f"{compute_fingerprint(body)}\n".encode() + body

    @staticmethod
    def load(raw: bytes) -> Record:
        """Parse the output of `dump`. Raises ValueError."""
        seal, _, body = raw.partition(b"\n")
        if seal != compute_fingerprint(body).encode():
            raise ValueError("the record is damaged")
        fields = json.loads(body)
        try:
            steps = tuple(Step(*step) for step in fields["steps"])
            return Record(steps=steps, folders=tuple(fields["folders"]))
        except (KeyError, TypeError) as error:  # intact, but of another version
            raise ValueError(f"the record cannot be understood: {error}") from None


class Journal:
    """The folder with the lock and the record of one tree; there is at most one record."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lock(self) -> BinaryIO:
        """Take the tree's exclusive lock, waiting for it; closing the returned file releases it."""
        import fcntl

        with translate_write_errors(str(self._folder)):
            create_private_folder(self._folder)
            lock = open(self._folder / "lock", "ab", opener=_open_private)  # noqa: SIM115 - the caller closes it
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except BaseException:  # an interrupt while waiting
                lock.close()
                raise
        return lock

    def write(self, record: Record, *, durable: bool) -> None:
        """Write the record as an intent. durable: also synced against a loss of power"""
        draft = self._folder / _DRAFT
        with translate_write_errors(str(self._folder)):
            with open(draft, "wb", opener=_open_private) as file:
                file.write(record.dump())
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            draft.rename(self._folder / "intent")

    def mark_commit(self) -> None:
        """Rename the intent to a commit: from now on the transaction must be finished."""
        with translate_write_errors(str(self._folder)):
            (self._folder / "intent").rename(self._folder / "commit")
            handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def find_record(self) -> tuple[Stage, Record | ValueError] | None:
        """Return the record left by a transaction, or the error that prevents reading it."""
        names = os.listdir(self._folder)
        if _DRAFT in names:
            self._clear_draft()
        for stage in _STAGES:
            if stage in names:
                try:
                    return stage, Record.load((self._folder / stage).read_bytes())
                except ValueError as error:
                    return stage, error
                except OSError as error:  # e.g. a folder of that name, a bad sector
                    return stage, ValueError(error.strerror)
        return None

    def set_aside(self, stage: Stage) -> str:
        """Rename the record so that it is no longer found; return its path."""
        place = self._folder / f"{stage}-{os.urandom(6).hex()}"
        with translate_write_errors(str(self._folder)):
            (self._folder / stage).rename(place)
        return str(place)

    def clear(self) -> None:
        """Remove the record: the transaction has ended."""
        with translate_write_errors(str(self._folder)):
            for stage in _STAGES:
                (self._folder / stage).unlink(missing_ok=True)

    def _clear_draft(self) -> None:
        with translate_write_errors(str(self._folder)):
            (self._folder / _DRAFT).unlink(missing_ok=True)


_STAGES: tuple[Stage, ...] = ("commit", "intent")

_DRAFT = "intent.tmp"
"""Temporary name of a record during writing; until it is renamed nothing else is changed."""


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
