"""Placeholder folders for protected folders that do not exist yet, held while commands run and removed afterwards."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK_NS = 1_000_000_007
"""Modification time that marks a placeholder, in nanoseconds since 1970; adding any entry resets it."""


@contextmanager
def hold_placeholders(root: Path, folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Create missing folders, to be mounted read-only on themselves; finally remove them if still empty.

    Git does not see an empty folder, and only an empty one can be removed, so no data is lost. The last of
    several concurrent commands in a workspace, of whichever process, removes them: removing a folder takes
    away the mounts of other commands on it. Placeholders left by a killed process are recognized by their
    mark.
    """
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mine: list[Path] = []
        if _acquire_shared_lock(top):
            mine = [
                folder
                for folder in folders
                if _create_placeholder(top, folder.name) or _is_marked_folder(top, folder.name)
            ]
        try:
            yield mine
        finally:
            if mine and _try_lock(top, fcntl.LOCK_EX):
                for folder in mine:
                    if _is_marked_folder(top, folder.name):
                        with suppress(OSError):  # not empty: it is in use by now, so it stays
                            os.rmdir(folder.name, dir_fd=top)
    finally:
        os.close(top)


def is_placeholder(folder: str | Path) -> bool:
    """Whether the folder is a placeholder that some command holds at present, or that a killed process has left."""
    return _is_marked_folder(None, folder)


def _acquire_shared_lock(top: int) -> bool:
    """Wait, for a bounded time, for another process to finish its removal; a command may hold the lock in malice."""
    for _ in range(_ATTEMPTS):
        if _try_lock(top, fcntl.LOCK_SH):
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


_ATTEMPTS, _PAUSE_SECONDS = 20, 0.001
"""Removing a handful of empty folders takes a tenth of a millisecond."""


def _try_lock(top: int, kind: int) -> bool:
    try:
        fcntl.flock(top, kind | fcntl.LOCK_NB)
    except OSError:  # held by another process, or the file system has no locks
        return False
    return True


def _create_placeholder(top: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=top)
        os.utime(name, ns=(_MARK_NS, _MARK_NS), dir_fd=top, follow_symlinks=False)
    except OSError:  # created meanwhile, or the workspace is not writable, for commands neither
        return False
    return True


def _is_marked_folder(top: int | None, name: str | Path) -> bool:
    try:
        found = os.stat(name, dir_fd=top, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_mtime_ns == _MARK_NS
