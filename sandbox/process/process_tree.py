"""Kill a command's processes where there is no process namespace: by their group, and by an inherited mark."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from sandbox.process.orphan_reaper import watch_children
from sandbox.process.spawn import DEATH_SECONDS, ROUND_SECONDS, is_group_alive

MARK = "PATCHWRIGHT_COMMAND"
"""Environment variable that distinguishes a command's descendants from our other children."""


class Descendants:
    """The processes of one command.

    Those that stay in the leader's group die with it. Those that left it (daemons) become our own
    children when their parent dies, because we ask the kernel for it, and are recognized by the mark. One that
    also wiped its environment is recognized by a seccomp filter, which no process can remove, if the command
    was started with one; it is killed when no other such command runs that it could belong to. Otherwise it
    escapes, and on systems other than Linux every daemon does.

    tagged: the command is started with a seccomp filter
    """

    def __init__(self, *, tagged: bool = False) -> None:
        self._mark = f"{os.getpid()}.{next(_NUMBERS)}"
        self._group = 0
        self._tagged = tagged
        if tagged:
            _RUNNING.add(self._mark)
        adopt_orphans()

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which the leader has to be started."""
        return {MARK: self._mark}

    def kill(self, leader: int) -> None:
        self._group = leader
        with suppress(ProcessLookupError, PermissionError):  # macOS reports EPERM for a group of zombies
            os.killpg(leader, signal.SIGKILL)

    async def wait_until_gone(self) -> None:
        import asyncio

        self.unregister()

        loop = asyncio.get_running_loop()
        start = loop.time()
        condemned: set[int] = set()
        while (waited := loop.time() - start) < DEATH_SECONDS:
            # In this order: a daemon becomes our child only when its parent in the group has really died.
            in_group = is_group_alive(self._group)
            children = _list_children()
            living = {pid for pid in children if not _has_ended(pid)}
            marks = {pid: self._is_marked(pid) for pid in living - condemned}
            condemned |= {pid for pid, marked in marks.items() if marked}
            undecided = None in marks.values() and waited < _EXEC_SECONDS
            if not (condemned or in_group or undecided):
                watch_children(children)  # some are orphans that have ended, or that we could not recognize
                return
            # Another round even if all of them die at once: their death may just have given us their
            # children.
            condemned = {pid for pid in condemned if _survives_kill(pid)}
            await asyncio.sleep(ROUND_SECONDS)

    def unregister(self) -> None:
        """Record that the command has ended, or was never started: unmarked leftovers may belong to it."""
        _RUNNING.discard(self._mark)

    def _is_marked(self, pid: int) -> bool | None:
        """Return None while it shows no environment at all: it is about to exec, or has ended."""
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # gone, or another user's by now
            return False
        if f"{MARK}={self._mark}".encode() in environment.split(b"\0"):
            return True
        if (
            self._tagged
            and not _RUNNING
            and _count_seccomp_filters(str(pid)) > _count_seccomp_filters("self")
        ):
            return True
        return False if environment else None


_NUMBERS = count(1)

_RUNNING: set[str] = set()
"""Marks of the tagged commands that run now."""


def _count_seccomp_filters(process: str) -> int:
    """Return the number of seccomp filters on a process."""
    with suppress(OSError):  # it has ended
        found = _FILTERS.search(Path(f"/proc/{process}/status").read_bytes())
        return int(found[1]) if found else 0
    return 0


_FILTERS = compile_lazily(rb"^Seccomp_filters:\s*(\d+)", re.MULTILINE)

_EXEC_SECONDS = 0.02
"""The kernel swaps a process's memory within microseconds; this allows for a busy machine."""


@cache
def adopt_orphans() -> None:
    """Become the parent of our descendants' orphans. Once per process; it cannot fail on Linux ≥ 3.4."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def kill_commands_of(process: int) -> None:
    """Kill the commands of an ended process of this program that have become our children; see `adopt_orphans`."""
    import asyncio

    mark = f"{MARK}={process}.".encode()
    for _ in range(round(DEATH_SECONDS / ROUND_SECONDS)):
        found = [pid for pid in _list_children() if not _has_ended(pid) and _has_variable(pid, mark)]
        if not found:
            return
        for pid in found:
            _survives_kill(pid)
        await asyncio.sleep(ROUND_SECONDS)  # their death may have given us their children


def _has_variable(pid: int, start: bytes) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone
        return False
    return any(each.startswith(start) for each in environment.split(b"\0"))


_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def _list_children() -> set[int]:
    found: set[int] = set()
    for thread in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that ended meanwhile
            found.update(map(int, thread.read_text().split()))
    return found


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2][1:2] == b"Z"
    except OSError:
        return True


def _survives_kill(pid: int) -> bool:
    """Kill and reap one of our children; return False when it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except (ProcessLookupError, ChildProcessError):
        return False
