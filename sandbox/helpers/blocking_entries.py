"""Entries that hold up a program which opens them by their names: pipes, devices, and files of no end."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = frozenset((".gitignore", ".ignore", ".rgignore", ".gitattributes", ".gitmodules", ".mailmap", ".git"))
"""Files that git and ripgrep open in every folder."""

_IN_GIT_FOLDER = (
    "HEAD",
    "config",
    "index",
    "packed-refs",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
)

LARGEST = 32 << 20
"""Bytes of such a file that is read in a moment."""

_SECONDS = 3.0
"""Time limit of a search: a hundred thousand folders."""


def explain_blocking_entry(root: Path) -> str:
    """Return which entry holds up a program that works in this folder, as a clause; "" if none is found."""
    for path in _iterate_entries(str(root)):
        try:
            status = os.stat(path)  # noqa: PTH116 (through a link: to /dev/zero, say)
        except OSError:  # gone, or a link to nothing
            continue
        name = os.path.relpath(path, root)
        kind = next((word for test, word in _KINDS if test(status.st_mode)), "")
        if kind:
            return f"{name!r} is a {kind} in place of a file"
        if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST:
            return f"{name!r} is too large ({status.st_size >> 20:,} MiB)"
    return ""


_KINDS = (
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
    (stat.S_ISSOCK, "socket"),
)


def _iterate_entries(root: str) -> Iterator[str]:
    """Yield the entries with such names, nearest first, until the time is over."""
    deadline = time.monotonic() + _SECONDS
    yield from (f"{root}/.git/{name}" for name in _IN_GIT_FOLDER)
    waiting = [root]
    for folder in waiting:  # it grows meanwhile
        if time.monotonic() > deadline:
            return
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name in NAMES:
                        yield entry.path
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # not readable
            continue
