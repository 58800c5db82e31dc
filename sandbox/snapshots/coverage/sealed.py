"""Files and folders of ours that a command has closed to us (`chmod 000`): opened for a moment, then closed again."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FOLDER = 0o700
FILE = 0o400
"""Rights needed to list and enter a folder, and to read a file."""

_HANDLE = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC


class Unsealed:
    """Entries that were opened; `close` gives each the mode back that it had, unless it was replaced meanwhile."""

    def __init__(self) -> None:
        self._opened: list[tuple[int, int]] = []

    def open(self, name: str, right: int, folder: int | None = None) -> bool:
        """Give the owner that right to an entry; return whether it is a file or folder of this user's that lacked it.

        Changes no file but the one that was looked at: by its handle, which no exchange of names redirects.
        """
        if not sys.platform.startswith("linux"):
            return False
        try:
            handle = os.open(name, _HANDLE, dir_fd=folder)
        except OSError:  # gone, or in a folder that is closed
            return False
        info = os.fstat(handle)
        mode = stat.S_IMODE(info.st_mode)
        kind = stat.S_ISDIR(info.st_mode) if right == FOLDER else stat.S_ISREG(info.st_mode)
        if kind and info.st_uid == os.geteuid() and mode & right != right:
            with suppress(OSError):  # no /proc, a read-only or foreign file system: it stays closed
                os.chmod(f"/proc/self/fd/{handle}", mode | right)  # noqa: PTH101 - by handle
                self._opened.append((handle, mode))
                return True
        os.close(handle)
        return False

    def close(self) -> None:
        """Close them again, the last one first: it may be inside the others."""
        while self._opened:
            handle, mode = self._opened.pop()
            with suppress(OSError):  # removed meanwhile
                os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - by handle
            os.close(handle)


def set_mode(name: str, mode: int, folder: int) -> None:
    """Set the permission bits of an entry, never those of what a link leads to."""
    if not sys.platform.startswith("linux"):
        os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        return
    handle = os.open(name, _HANDLE, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(handle).st_mode):
            os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - by handle
    finally:
        os.close(handle)


@contextmanager
def unseal_file(name: str, folder: int | None = None) -> Iterator[bool]:
    """Make a file of this user's readable during the block; yields whether that was possible."""
    unsealed = Unsealed()
    try:
        yield unsealed.open(name, FILE, folder)
    finally:
        unsealed.close()
