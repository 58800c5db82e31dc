"""The process namespace of one command of bubblewrap: held back while it is set up, and ended as a whole."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

from sandbox.process.spawn import (
    DEATH_SECONDS,
    ROUND_SECONDS,
    is_group_alive,
    wait_for_exit,
    wait_until_readable,
    wait_with_timeout,
)


class LimitsRefusedError(Exception):
    """The kernel does not let us set the limits of the namespace's first process: it never goes on."""


class Namespace:
    """The process namespace of one command: when its first process dies, the kernel kills all others.

    bwrap makes the mounts, then waits until we have set the limits of its first process, which all others inherit. A
    shell in front of the command would set them as well, and take as long as the rest of our work.

    limits: hard resource limits by number; empty where we may not set them (a setuid bwrap)
    prepare: called once, while bwrap makes the mounts
    """

    def __init__(self, limits: Mapping[int, int], prepare: Callable[[], None]) -> None:
        self._limits = limits
        self._prepare = prepare
        self._group = 0
        self._report = b""
        self._status, self._status_write = os.pipe()
        os.set_blocking(self._status, False)
        self._gate = _open_gate()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that bwrap needs."""
        return self._status_write, self._gate

    @property
    def options(self) -> tuple[str, ...]:
        """Options of bwrap."""
        return "--json-status-fd", str(self._status_write), "--block-fd", str(self._gate)

    @property
    def has_started(self) -> bool:
        """Whether the command was started: bwrap reports an exit status of no other."""
        return b'"exit-code"' in self._report

    def close(self) -> None:
        """Close our descriptors."""
        self._close_status_write()
        os.close(self._status)
        os.close(self._gate)

    def kill(self, leader: int) -> None:
        """See `ProcessTree.kill`."""
        # The group too: before bwrap's child has left it, the child would outlive a killed bwrap.
        self._group = leader
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)

    async def open(self, leader: int, join_group: Callable[[int], None]) -> None:
        """See `StartGate.open`. Raises LimitsRefusedError if the limits cannot be set."""
        self._close_status_write()  # then the report ends if bwrap does
        self._prepare()
        if first := await self._wait_for_first():
            join_group(first)
            _set_limits(first, self._limits)
            os.write(self._gate, b"\n")

    async def wait_until_gone(self) -> None:
        """See `ProcessTree.wait_until_gone`."""
        self._read_report()
        first = find_first_process(self._report)
        if not first:  # killed before it was reported: then it is still in the group
            await wait_with_timeout(DEATH_SECONDS, _wait_group_gone(self._group))
            return
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
        await wait_with_timeout(DEATH_SECONDS, wait_for_exit(first, lambda: None))
        with suppress(ChildProcessError):  # our child only if we are the first process here
            os.waitpid(first, os.WNOHANG)

    async def _wait_for_first(self) -> int:
        """Return the namespace's first process once bwrap reports it; 0 if bwrap ends before."""
        while self._read_report() and not find_first_process(self._report):
            await wait_until_readable(self._status)
        return find_first_process(self._report)

    def _read_report(self) -> bool:
        """Read what bwrap has reported; return False at the end of the report."""
        try:
            piece = os.read(self._status, _STATUS_SIZE)
        except BlockingIOError:  # nothing new
            return True
        self._report += piece
        return bool(piece)

    def _close_status_write(self) -> None:
        if self._status_write >= 0:
            os.close(self._status_write)
            self._status_write = -1


def find_first_process(report: bytes) -> int:
    """Return the process that bwrap reports as the first of the namespace; 0 before."""
    found = _FIRST_PROCESS.search(report)
    return int(found[1]) if found else 0


def _open_gate() -> int:
    """Return a pipe's only descriptor, for reading and writing: so it has no end that bwrap would take for a sign to
    go on when we are killed."""
    ends = os.pipe()
    try:
        return os.open(f"/proc/self/fd/{ends[0]}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        for each in ends:
            os.close(each)


def _set_limits(process: int, limits: Mapping[int, int]) -> None:
    import resource

    try:
        for which, value in limits.items():
            resource.prlimit(process, which, (value, value))
    except ProcessLookupError:  # killed meanwhile
        return
    except PermissionError as error:
        raise LimitsRefusedError from error


async def _wait_group_gone(group: int) -> None:
    import asyncio

    while is_group_alive(group):
        await asyncio.sleep(ROUND_SECONDS)


_STATUS_SIZE = 4096
"""Two lines of about 200 bytes."""

_FIRST_PROCESS = re.compile(rb'"child-pid": *([0-9]+)[^0-9]')
"""JSON, but written piecewise by a program that may be killed meanwhile: half a number names another process."""
