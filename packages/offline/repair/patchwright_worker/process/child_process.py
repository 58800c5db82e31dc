"""Forked children: bounded in time and memory, killed with all processes that they started."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
import traceback
import types
from contextlib import suppress
from typing import TYPE_CHECKING

from .json_lines import write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from .json_lines import Json, Send

# A patch may allocate as much as the project and this much more before it counts as a runaway.
EXTRA_MEMORY = 2 << 30
# No test that judges a patch writes more than this; more counts as a flood.
LARGEST_FILE = 256 << 20
# Wall time allowed beyond a test's CPU time limit: sleeping tests, and a busy machine. Beyond some seconds of
# CPU half as much has to do, or a test that waits for ever takes the time of the whole suite.
WALL_FACTOR, WALL_SLACK, LONG = 4.0, 3.0, 2.0


class Child:
    """A forked process whose JSON lines are read as they arrive; `deadline` moves with each test."""

    def __init__(self, work: Callable[[Send], None], on_line: Callable[[Json], None], seconds: float) -> None:
        self._on_line, self._buffer = on_line, b""
        self.killed = False
        self.cpu = 0.0
        self.extend_deadline(seconds)
        self.descriptor, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run_as_child(work, writing)
        os.close(writing)

    def extend_deadline(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def read_messages(self) -> bool:
        """Read arrived messages; return False when the child has sent its last one."""
        data = os.read(self.descriptor, 1 << 16)
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._on_line(json.loads(line))
        return bool(data) and not any(b'"kind": "over"' in line for line in lines)

    def kill(self) -> None:
        """Kill the child's whole process group, so that no process it started survives."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # ended already, or not yet leader of its group
            _kill_process(self.pid)
        self.cpu = _sum_cpu_seconds(os.wait4(self.pid, 0)[2])
        os.close(self.descriptor)


def _sum_cpu_seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def _kill_process(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself
        os.kill(pid, signal.SIGKILL)


def _run_as_child(work: Callable[[Send], None], writing: int) -> None:
    """Do the work and exit immediately: no exit handler of the project may run in a copy of it."""
    try:
        os.setsid()
        _set_limits()
        work(lambda message: write_all(writing, json.dumps(message).encode() + b"\n"))
        write_all(writing, b'{"kind": "over"}\n')
    finally:
        os._exit(0)


def _set_limits() -> None:
    with open("/proc/self/statm") if os.path.exists("/proc/self/statm") else open(os.devnull) as file:
        pages = file.read().split()
    used = int(pages[0]) * resource.getpagesize() if pages else 0
    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, LARGEST_FILE)]
    if used:
        limits.append((resource.RLIMIT_AS, used + EXTRA_MEMORY))
    for which, value in limits:
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


class CpuLimit:
    """CPU seconds for a test: a limit, or as much as all before it have used if that is more.

    spent: CPU seconds used before; None for the limit alone
    """

    def __init__(self, limit: float, spent: float | None = None) -> None:
        self._limit, self._spent = limit, spent

    def get_seconds(self, index: int) -> float:
        return self._limit if self._spent is None else max(self._limit, self._spent)

    def add_used(self, seconds: float) -> None:
        if self._spent is not None:
            self._spent += seconds


class TestClock:
    """Ends the process when one test exceeds its CPU time."""

    __test__ = False

    def __init__(self, send: Send, limit_of: Callable[[int], float], at_limit: Callable[[], Json]) -> None:
        self._send, self._limit_of, self._at_limit = send, limit_of, at_limit
        self._index = -1
        self._started = (0.0, 0.0)
        signal.signal(signal.SIGPROF, self._handle_timeout)

    def start_test(self, index: int) -> None:
        self._index = index
        limit = self._limit_of(index)
        wall = limit * WALL_FACTOR - max(0.0, limit - LONG) * WALL_FACTOR / 2 + WALL_SLACK
        self._send({"kind": "start", "test": index, "wall": wall})
        signal.setitimer(signal.ITIMER_PROF, limit)
        self._started = (time.monotonic(), time.process_time())

    def stop_test(self) -> Json:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"wall": time.monotonic() - self._started[0], "cpu": time.process_time() - self._started[1]}

    def _handle_timeout(self, number: int, frame: types.FrameType | None) -> None:
        summary = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=60)
        frames = [[f.filename, f.lineno, f.name] for f in reversed(summary)]
        record = {
            "kind": "test",
            "test": self._index,
            "outcome": "timeout",
            "frames": frames,
            **self._at_limit(),
        }
        self._send(
            {**record, "wall": time.monotonic() - self._started[0], "cpu": self._limit_of(self._index)}
        )
        os._exit(0)
