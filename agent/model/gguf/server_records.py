"""Records of the servers that run for this user, one for each model's file, where commands cannot see them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sandbox.fs.private_files import create_private_folder, open_private
from sandbox.lazy_dataclass import dataclass

FOLDER = "model-servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A server that was started.

    path: of the weights; port, token: where and with what key it answers; window: in tokens
    keeper, keeper_began, server, server_began: process ids, with the ticks at which each began
    idle: seconds without a request after which it is ended, 0: never
    """

    path: str
    port: int
    token: str
    window: int
    keeper: int
    keeper_began: int
    server: int
    server_began: int
    idle: float

    @property
    def is_kept(self) -> bool:
        """Whether the process that looks after the server is alive."""
        return read_start(self.keeper) == self.keeper_began

    @property
    def is_alive(self) -> bool:
        """Whether the server is."""
        return read_start(self.server) == self.server_began


class RecordFile:
    """The record of the server for one model's file."""

    def __init__(self, folder: Path, weights: Path) -> None:
        name = hashlib.sha256(os.fsencode(weights)).hexdigest()[:16]
        self.weights = weights
        self.path = folder / f"{name}.json"
        self.log = folder / f"{name}.log"
        self.preferred_port = 20_000 + int(name[:4], 16) % 12_000
        """The same at each start, as far as it is free: what is known of a server is remembered by its address."""

    @contextmanager
    def lock(self, *, waits: bool = True) -> Iterator[bool]:
        """Hold the record for a start or an end; yield whether it is held, which is certain for who waits."""
        create_private_folder(self.path.parent)
        handle = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(handle)
            yield False
            return
        try:
            yield True
        finally:
            os.close(handle)

    def read(self) -> ServerRecord | None:
        """Return the record, None if there is none or it is damaged."""
        return _parse_record(self.path)

    def write(self, record: ServerRecord) -> None:
        part = self.path.with_suffix(".part")
        with open(part, "w", opener=open_private) as file:
            json.dump(asdict(record), file)
        part.replace(self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def touch(self) -> None:
        """Say that the server is in use."""
        with suppress(OSError):  # it was ended meanwhile, and is started again
            os.utime(self.path)


def list_records(folder: Path) -> list[ServerRecord]:
    """Return the records of servers that are alive."""
    found = [_parse_record(each) for each in sorted(folder.glob("*.json"))]
    return [each for each in found if each is not None and each.is_alive]


def read_start(process: int) -> int:
    """Return the ticks after the machine's start at which a process began, 0 if it has ended."""
    fields = _read_fields(process)
    return int(fields[19]) if fields and fields[0] != b"Z" else 0


def read_work(process: int) -> int:
    """Return the ticks of processors that a process has used."""
    fields = _read_fields(process)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _read_fields(process: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the name."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _parse_record(path: Path) -> ServerRecord | None:
    try:
        values: Any = json.loads(path.read_bytes())
        return ServerRecord(**values)
    except (OSError, ValueError, TypeError, RecursionError):  # none, of another version, or damaged
        return None
