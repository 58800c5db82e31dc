"""Record of a detached run beside its log: its process and terminal. The lock of the log says whether it runs."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from agent.session.session_pruning import is_open
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

RECORD = "detached.json"
OUTPUT = "output.txt"
"""File with everything that the process printed, beside the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A detached process. began: seconds since the epoch; terminal: path of the one that started it, "" for none"""

    pid: int
    began: float
    folder: str
    terminal: str = ""


def write_record(session: Path, record: RunRecord) -> None:
    """Write the record of this process into the folder of its session."""
    write_private_file(session / RECORD, json.dumps(asdict(record)).encode())


def read_record(session: Path) -> RunRecord | None:
    """Return the record of a session's detached process; None if it never had one."""
    try:
        found = parse_json((session / RECORD).read_bytes())
        return RunRecord(
            pid=int(found["pid"]),
            began=float(found["began"]),
            folder=str(found["folder"]),
            terminal=str(found["terminal"]),
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def wait_for_end(session: Path, seconds: float | None = None) -> bool:
    """Wait until no process has the session open; return False if that takes longer than `seconds`."""
    until = None if seconds is None else time.monotonic() + seconds
    while is_open(session):
        if until is not None and time.monotonic() > until:
            return False
        time.sleep(_INTERVAL)
    return True


def send_signal(session: Path, number: signal.Signals) -> None:
    """Send a signal to the process of a running detached session. Raises UserError if there is none."""
    record = read_record(session)
    if record is None:
        raise UserError(
            Fault.USAGE,
            f"session {session.name!r} does not run in the background",
            "One in a terminal is ended there.",
        )
    opened = _open_process(record.pid)
    try:
        if not is_open(session):  # asked after the process is held, so that no other one has its number
            raise UserError(Fault.USAGE, f"session {session.name!r} does not run any more")
        with suppress(ProcessLookupError):
            if opened >= 0:
                signal.pidfd_send_signal(opened, number)
            else:
                os.kill(record.pid, number)
    finally:
        if opened >= 0:
            os.close(opened)


def _open_process(pid: int) -> int:
    """Return a descriptor that stays with a process; -1 where there is none (macOS, an old kernel)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


_INTERVAL = 0.1
"""Seconds between two looks at a lock: no system call waits for it without taking it."""
