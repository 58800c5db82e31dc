"""Hold the places of guarded folders that are not there yet, while commands run, and leave no trace of it."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK_NS = 1_000_000_007
"""Time of change of a folder of ours, in nanoseconds since 1970: what anyone puts into it resets that."""


@contextmanager
def hold_placeholders(root: Path, folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Make those folders that are missing, to be mounted read-only on themselves; later remove them if still empty.

    Git does not see an empty folder, and only an empty one can be removed: nothing of anyone's is lost. The
    last of several commands in one workspace removes them, whichever process runs it: removing a folder
    takes away what another command has mounted on it. What a killed process left is found by its mark.
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
                        with suppress(OSError):  # somebody filled it just now: then it is theirs
                            os.rmdir(folder.name, dir_fd=top)
    finally:
        os.close(top)


def is_placeholder(folder: Path) -> bool:
    """A folder of ours, that a command of this or of another process holds at present (or has left behind)."""
    return _is_marked_folder(None, str(folder))


def _acquire_shared_lock(top: int) -> bool:
    """Wait for another process to have done its removing; not for a command that holds the lock out of malice."""
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
    except OSError:  # another has it, or the file system has no locks
        return False
    return True


def _create_placeholder(top: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=top)
        os.utime(name, ns=(_MARK_NS, _MARK_NS), dir_fd=top, follow_symlinks=False)
    except OSError:  # made by somebody meanwhile, or the workspace is closed to us and so to commands
        return False
    return True


def _is_marked_folder(top: int | None, name: str) -> bool:
    try:
        found = os.stat(name, dir_fd=top, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_mtime_ns == _MARK_NS
