"""The process on whose behalf this one runs: its parent, unless a warm process runs a command for another one."""

from __future__ import annotations

import os


class _Caller:
    process: int | None = None


def find_caller() -> int:
    """Return the number of the process that waits for this one."""
    return os.getppid() if _Caller.process is None else _Caller.process


def set_caller(process: int) -> None:
    """Name the process that waits for this one, where it is not the parent."""
    _Caller.process = process
