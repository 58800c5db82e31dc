"""Calls that a node of a cluster leases for its processes: each waits with a ticket, one of them asks for all.

A ticket is a file: `ID.ticket` waits, `ID.granted` may be sent, `ID.used` has the tokens used beyond the estimate. Its
owner touches it while it waits; tickets of killed processes grow old and are given back.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.model.rate_limits.bucket_store import OnWait
from agent.model.rate_limits.token_bucket import Charge, decode_charge
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder, open_private, write_private_file
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass

_LOOK = 0.1
"""Seconds between two looks of a waiting call, and of the one that asks for them."""

_ASK = 0.5
"""Seconds between two questions while calls wait: a cluster has hundreds of nodes, and one answers all."""

_NO_TICKET = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Exceptions for the content of a file that is none of ours."""

_OLD = 15.0
"""Seconds without a touch after which a ticket's owner is taken for dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """Question of a node.

    asker, number: the same for a question that is sent again, as no answer came: it is applied once
    calls: that wait; unused: granted ones that were not sent; used: tokens beside estimates
    """

    asker: str = ""
    number: int = 0
    calls: Sequence[Charge] = ()
    unused: Sequence[Charge] = ()
    used: Sequence[tuple[Charge, int]] = ()

    def encode(self) -> dict[str, Any]:
        """Return its fields for JSON."""
        return {
            "asker": self.asker,
            "number": self.number,
            "calls": [each.encode() for each in self.calls],
            "unused": [each.encode() for each in self.unused],
            "used": [[charge.encode(), tokens] for charge, tokens in self.used],
        }


def decode_lease_request(fields: Any) -> LeaseRequest:
    """Return a question from JSON. Raises TypeError, KeyError or ValueError."""
    return LeaseRequest(
        asker=str(fields["asker"]),
        number=int(fields["number"]),
        calls=[decode_charge(each) for each in fields["calls"]],
        unused=[decode_charge(each) for each in fields["unused"]],
        used=[(decode_charge(charge), int(tokens)) for charge, tokens in fields["used"]],
    )


Ask = Callable[[LeaseRequest], Awaitable[Sequence[float] | None]]
"""Returns for each call of a question how many seconds it has to wait, 0.0 if it may be sent; None: no answer."""


def locate_leases(cache_folder: Path) -> Path:
    """Return the folder of tickets; it is there where calls are leased."""
    return cache_folder / "rate-limits" / "leases"


class LeasedBuckets:
    """Calls that wait for a lease. Implements `BucketStore`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def take(self, charge: Charge, on_wait: OnWait) -> None:
        name = uuid.uuid4().hex
        ticket, granted = self._folder / f"{name}.ticket", self._folder / f"{name}.granted"
        try:
            self._write(ticket, charge.encode())
            while not granted.exists():
                try:
                    os.utime(ticket)
                except FileNotFoundError:
                    if not granted.exists():  # taken for dead: this process was stopped for long
                        self._write(ticket, charge.encode())
                on_wait(_LOOK)
                await asyncio.sleep(_LOOK)
            granted.unlink(missing_ok=True)
        finally:  # cancelled: one that is granted at this moment grows old, and is given back
            ticket.unlink(missing_ok=True)

    def correct(self, charge: Charge, tokens: int) -> None:
        if not tokens:
            return
        with suppress(OSError):  # not counted: the reply that it is about is paid for, and must not be lost
            self._write(self._folder / f"{uuid.uuid4().hex}.used", [charge.encode(), tokens])

    def _write(self, file: Path, content: object) -> None:
        coming = file.with_suffix(".coming")
        write_private_file(coming, json.dumps(content).encode())
        coming.rename(file)


async def serve_leases(folder: Path, ask: Ask) -> None:
    """Ask for the calls that wait in a folder, until cancelled. One of the processes that serve a folder does; when it
    is gone, another one."""
    create_private_folder(folder)
    lock = open_private(str(folder / "served.lock"), os.O_RDWR | os.O_CREAT)
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                await _Leases(folder, ask).serve()
            await asyncio.sleep(_ASK)
    finally:
        os.close(lock)


class _Leases:
    """The one that asks for a node."""

    def __init__(self, folder: Path, ask: Ask) -> None:
        self._folder = folder
        self._ask = ask
        self._withdrawn: list[Charge] = []
        self._asker = uuid.uuid4().hex
        self._number = 0

    async def serve(self) -> None:
        while True:
            try:
                waiting, done, request = self._collect_tickets()
            except OSError:  # too many open files, say
                await asyncio.sleep(_ASK)
                continue
            pause = _LOOK
            if request.calls or request.unused or request.used:
                while (waits := await self._ask(request)) is None:  # it may be applied all the same
                    await asyncio.sleep(_ASK)
                pause = self._settle(waiting, done, request, waits)
            await asyncio.sleep(pause)

    def _settle(
        self, waiting: Sequence[Path], done: Sequence[Path], request: LeaseRequest, waits: Sequence[float]
    ) -> float:
        """Remove the files that an answer accounts for, and let calls go; return seconds until the next question."""
        self._withdrawn.clear()
        for file in done:
            _remove(file)
        for ticket, charge, wait in zip(waiting, request.calls, waits, strict=True):
            if not wait:
                try:
                    ticket.rename(ticket.with_suffix(".granted"))
                except OSError:
                    self._withdrawn.append(charge)
        return _ASK if any(waits) else _LOOK

    def _collect_tickets(self) -> tuple[list[Path], list[Path], LeaseRequest]:
        """Return the tickets that wait, those of which a question takes note, and the question about all."""
        waiting: dict[Path, Charge] = {}
        granted: dict[Path, Charge] = {}
        used: dict[Path, tuple[Charge, int]] = {}
        for file in _list_by_age(self._folder):
            is_old = _is_old(file)
            try:
                match file.suffix:
                    case ".ticket" if not is_old:
                        waiting[file] = decode_charge(_read_json(file))
                    case ".granted" if is_old:
                        granted[file] = decode_charge(_read_json(file))
                    case ".used":
                        charge, tokens = _read_json(file)
                        used[file] = decode_charge(charge), int(tokens)
                    case ".ticket" | ".coming" if is_old:
                        _remove(file)
            except FileNotFoundError:
                continue
            except (UserError, *_NO_TICKET):  # nothing that we write
                _remove(file)
        unused = [*granted.values(), *self._withdrawn]
        self._number += 1
        request = LeaseRequest(
            asker=self._asker,
            number=self._number,
            calls=[*waiting.values()],
            unused=unused,
            used=[*used.values()],
        )
        return list(waiting), [*granted, *used], request


def _list_by_age(folder: Path) -> list[Path]:
    """Return the files of a folder, in the order in which they were made."""
    found = []
    with os.scandir(folder) as entries:
        for each in entries:
            with suppress(FileNotFoundError):
                found.append((each.stat(follow_symlinks=False).st_ctime, each.path))
    return [Path(path) for _, path in sorted(found)]


def _remove(file: Path) -> None:
    with suppress(OSError):  # gone, or a folder: nothing is read below one
        file.unlink()


def _is_old(file: Path) -> bool:
    try:
        return file.lstat().st_mtime < time.time() - _OLD
    except FileNotFoundError:
        return False


def _read_json(file: Path) -> Any:
    """Return the content of a ticket. Raises FileNotFoundError and ValueError."""
    content = read_regular_file(file, SETTINGS)
    if content is None:
        raise FileNotFoundError(file)
    return json.loads(content)
