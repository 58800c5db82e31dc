"""Reap adopted orphans when they end, without taking the exit status of processes that we started ourselves."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

UNCLAIMED_SECONDS = 10.0
"""A child that ended so long ago and was not waited for is an orphan: our own are waited for within a moment."""


class _Child:
    """A watched child. handle: never means a later process with the same number"""

    def __init__(self, pid: int, handle: int) -> None:
        self.pid = pid
        self._handle = handle
        self._ended_at: float | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in this event loop for what is to come: the end of the child, or of the time to claim it."""
        self.loop = loop
        if self._ended_at is None and not _has_ended(self._handle):
            loop.add_reader(self._handle, self._handle_end)
        else:
            self._note_end(loop)

    def _handle_end(self) -> None:
        assert self.loop is not None
        self.loop.remove_reader(self._handle)
        self._note_end(self.loop)

    def _note_end(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        self._ended_at = self._ended_at or now
        left = self._ended_at + UNCLAIMED_SECONDS - now
        if left <= 0 or is_adopted(self.pid):
            self._reap()
        else:
            loop.call_later(left, self._reap)

    def _reap(self) -> None:
        del _WATCHED[self.pid]
        try:
            with suppress(ChildProcessError):  # waited for by whoever started it
                os.waitid(os.P_PIDFD, self._handle, os.WEXITED | os.WNOHANG)
        finally:
            os.close(self._handle)


_WATCHED: dict[int, _Child] = {}


def _has_ended(handle: int) -> bool:
    try:
        return os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # waited for meanwhile
        return True


def watch_children(children: Iterable[int]) -> None:
    """Reap these children once they end. To be called in the event loop that goes on to run."""
    import asyncio

    loop = asyncio.get_running_loop()
    for child in list(_WATCHED.values()):
        if child.loop is not None and child.loop.is_closed():
            child.watch(loop)
    for pid in children:
        if pid not in _WATCHED:
            with suppress(AttributeError, OSError):  # gone, or a system without process handles
                _WATCHED[pid] = _Child(pid, os.pidfd_open(pid))
                _WATCHED[pid].watch(loop)


def is_adopted(pid: int) -> bool:
    """Whether a child was certainly started by another process: it is in a session that is neither ours, which children
    inherit, nor its own."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # waited for meanwhile
        return False
    return int(fields[3]) not in (os.getsid(0), pid)
