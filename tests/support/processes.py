"""Processes of a test that should be gone."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def find_processes(folder: Path) -> list[str]:
    """Return the command lines of processes that work in a folder, or name it."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if each.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z":
                continue
            line = each.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if str(folder) in line or str(each.joinpath("cwd").readlink()).startswith(str(folder)):
                found.append(line)
    return found


def wait_until_gone(folder: Path) -> list[str]:
    """Return the processes that are still there after a moment, which the watchdog's shell takes."""
    until = time.monotonic() + 10
    while (found := find_processes(folder)) and time.monotonic() < until:
        time.sleep(0.02)
    return found
