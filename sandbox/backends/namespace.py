"""The process namespace of one command of bubblewrap: held back while it is set up, and ended as a whole."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress

from sandbox.lazy_pattern import compile_lazily
from sandbox.process.spawn import (
    DEATH_SECONDS,
    ROUND_SECONDS,
    is_group_alive,
    wait_for_exit,
    wait_until_readable,
    wait_with_timeout,
)
from sandbox.process.watchdog import watch_group


class LimitsRefusedError(Exception):
    """The kernel does not let us set the limits of the namespace's first process: it never goes on."""


class Namespace:
    """The process namespace of one command: when its first process dies, the kernel kills all others.

    bwrap makes the mounts, then waits until we have set the limits of its first process, which all others inherit. A
    shell in front of the command would set them as well, and take as long as the rest of our work.

    It reads two pipes that we alone write to: our death ends them, so it never waits for us in vain.
    - Further options: it does not fork before the watchdog knows its process group. Its child waits for it then, for
      ever if it dies: of our death (`--die-with-parent`), or of a report that nobody reads any more. So the report is
      asked for by these options; they are empty if we die before.
    - The system call filter, which it reads last: it does not go on before the limits are set. If we die instead, the
      filter is empty, the kernel refuses it, and the command is not run. (At the end of `--block-fd` it would be.)

    limits: hard resource limits by number; empty where we may not set them (a setuid bwrap)
    prepare: called once, while bwrap makes the mounts
    filter_: the system call filter, not empty; at most as long as a pipe holds
    """

    def __init__(self, limits: Mapping[int, int], prepare: Callable[[], None], filter_: bytes) -> None:
        self._limits = limits
        self._prepare = prepare
        self._filter = filter_
        self._watched = ExitStack()
        self._group = 0
        self._report = b""
        self._status, self._options, self._filter_pipe = _Pipe(), _Pipe(), _Pipe()
        os.set_blocking(self._status.read_end, False)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that bwrap needs."""
        return self._status.write_end, self._options.read_end, self._filter_pipe.read_end

    @property
    def options(self) -> tuple[str, ...]:
        """Options of bwrap."""
        return "--args", str(self._options.read_end), "--seccomp", str(self._filter_pipe.read_end)

    @property
    def has_started(self) -> bool:
        """Whether the command was started: bwrap reports an exit status of no other."""
        return b'"exit-code"' in self._report

    def close(self) -> None:
        """Close our descriptors."""
        self._watched.close()
        for each in (self._status, self._options, self._filter_pipe):
            each.close()

    def kill(self, leader: int) -> None:
        """See `ProcessTree.kill`."""
        # The group too: before bwrap's child has left it, the child would outlive a killed bwrap.
        self._group = leader
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)

    async def open(self, leader: int, join_group: Callable[[int], None]) -> None:
        """See `StartGate.open`. Raises LimitsRefusedError if the limits cannot be set."""
        self._options.write_all(b"--json-status-fd\0%d\0" % self._status.write_end)
        self._status.close_write_end()  # then the report ends if bwrap does
        self._prepare()
        if first := await self._wait_for_first():
            join_group(first)
            _set_limits(first, self._limits)
            # When it goes on it leaves bwrap's group, a moment before it asks the kernel to die with bwrap.
            self._watched.enter_context(watch_group(first))
            self._filter_pipe.write_all(self._filter)

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
            await wait_until_readable(self._status.read_end)
        return find_first_process(self._report)

    def _read_report(self) -> bool:
        """Read what bwrap has reported; return False at the end of the report."""
        try:
            piece = os.read(self._status.read_end, _STATUS_SIZE)
        except BlockingIOError:  # nothing new
            return True
        self._report += piece
        return bool(piece)


class _Pipe:
    """A pipe whose ends are not inherited unless they are passed on."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self._is_written = True

    def write_all(self, content: bytes) -> None:
        """Write at most as much as a pipe holds, and close this end."""
        os.write(self.write_end, content)
        self.close_write_end()

    def close_write_end(self) -> None:
        """Close this end, if it is open."""
        if self._is_written:
            self._is_written = False
            os.close(self.write_end)

    def close(self) -> None:
        """Close both ends."""
        self.close_write_end()
        os.close(self.read_end)


def find_first_process(report: bytes) -> int:
    """Return the process that bwrap reports as the first of the namespace; 0 before."""
    found = _FIRST_PROCESS.search(report)
    return int(found[1]) if found else 0


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

_FIRST_PROCESS = compile_lazily(rb'"child-pid": *([0-9]+)[^0-9]')
"""JSON, but written piecewise by a program that may be killed meanwhile: half a number names another process."""
