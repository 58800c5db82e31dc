"""Watch a running command where the kernel sets no bound: root's processes, free memory and disk space."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sandbox.process.command import Limits

ROUND_SECONDS = 0.05
"""Between checks. A check costs 20 µs, and a fork bomb makes a thousand processes meanwhile, which a
machine survives."""

LEAST_FREE = 256 << 20
"""Bytes on the disk of the workspace: enough for the user's editor, our log and git to finish cleanly."""


LEAST_MEMORY = 1 << 29
"""Bytes of available memory below which a command is ended before the kernel chooses whom to end."""


async def wait_for_overrun(limits: Limits, folder: Path, *, children: Callable[[], int] | None = None) -> str:
    """Return a clause that names the exceeded limit; never return while the command keeps within bounds.

    folder: on the disk to watch
    children: counts our descendants
    """
    import asyncio

    counted = limits.processes and os.geteuid() == 0
    count = children or count_descendants
    at_first = count_threads()
    had_room = _measure_free_space(folder) >= LEAST_FREE
    had_memory = measure_available_memory() >= LEAST_MEMORY
    while True:
        await asyncio.sleep(ROUND_SECONDS)
        # The number of all threads is one read; only when it has grown so much are ours counted.
        if counted and count_threads() - at_first > limits.processes and count() > limits.processes:
            return f"it had more than {limits.processes} processes"
        if had_memory and measure_available_memory() < LEAST_MEMORY:
            return f"less than {LEAST_MEMORY >> 20} MiB of memory were left on the machine"
        if had_room and _measure_free_space(folder) < LEAST_FREE:
            return f"less than {LEAST_FREE >> 20} MiB were left on the disk"


def count_threads() -> int:
    """Return the number of threads on the machine; 0 where that is unknown."""
    try:
        with open("/proc/loadavg", "rb", buffering=0) as file:  # noqa: PTH123 (twenty times a second)
            return int(file.read(128).split()[3].partition(b"/")[2])
    except OSError:  # not Linux: there the kernel counts
        return 0


def count_descendants() -> int:
    """Return how many threads descend from this process, as the kernel's own limit counts: each process has one."""
    parents: dict[str, list[tuple[str, int]]] = {}
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal():
                with suppress(OSError):  # it has ended
                    fields = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
                    parents.setdefault(fields[1].decode(), []).append((entry.name, int(fields[17])))
    found, waiting = 0, [str(os.getpid())]
    while waiting:
        for child, threads in parents.get(waiting.pop(), []):
            found += threads
            waiting.append(child)
    return found


def measure_available_memory() -> int:
    """Return the bytes that programs can get without swapping; the limit itself where that is unknown."""
    try:
        with open("/proc/meminfo", "rb", buffering=0) as file:  # noqa: PTH123 (twenty times a second)
            content = file.read(256)
        return int(content.partition(b"MemAvailable:")[2].split(None, 1)[0]) << 10
    except (OSError, IndexError, ValueError):  # not Linux
        return LEAST_MEMORY


def _measure_free_space(folder: Path) -> int:
    try:
        disk = os.statvfs(folder)
    except OSError:  # the command removed it
        return LEAST_FREE
    return disk.f_bavail * disk.f_frsize
