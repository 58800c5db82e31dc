"""Gates that hold a started program back until everything is ready for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class StartGate(Protocol):
    """A place before its first instruction where a program waits."""

    async def open(self, leader: int, join_group: Callable[[int], None]) -> None:
        """Let the program go on.

        leader: the process that was started
        join_group: adds a process that has no children yet to the command's control group
        """
        ...


class PipeGate:
    """A named pipe on which the program waits (see `build_limit_prefix`)."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def open(self, leader: int, join_group: Callable[[int], None]) -> None:
        """See `StartGate.open`."""
        join_group(leader)
        os.write(self._descriptor, b"\n")


@contextmanager
def open_pipe_gate(path: Path) -> Iterator[PipeGate]:
    """Open both ends of a named pipe until the command has ended: then nothing written to it is lost."""
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield PipeGate(descriptor)
    finally:
        os.close(descriptor)
