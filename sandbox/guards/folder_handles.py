"""Handles of folders in a workspace reached without following a link, and moves of entries out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_folder(root: Path, folder: str) -> Iterator[int]:
    """Open a folder of a workspace. folder: relative, "" for the top

    Raises OSError if a component is a link by now: a process that still runs may have exchanged it.
    """
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folder.split("/") if folder else ():
            inner = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def move_entry_aside(root: Path, path: str, aside: Path) -> Path | None:
    """Move an entry of a workspace to a folder of Patchwright's; return its new path, None if that failed.

    A folder that cannot be moved because `aside` is on another file system is renamed in its place.
    """
    folder, _, name = path.rpartition("/")
    target = aside / f"{name}.{os.urandom(4).hex()}"
    try:
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open_folder(root, folder) as handle:
            try:
                os.rename(name, target, src_dir_fd=handle)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                if not _copy_entry(handle, name, target):
                    os.rename(name, target.name, src_dir_fd=handle, dst_dir_fd=handle)
                    return root / folder / target.name
                os.unlink(name, dir_fd=handle)
    except OSError:  # it is being changed, or not accessible: the caller reports it
        return None
    return target


def _copy_entry(handle: int, name: str, target: Path) -> bool:
    """Copy a small file or a link; return whether it was one."""
    mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        target.symlink_to(os.readlink(name, dir_fd=handle))
        return True
    if not stat.S_ISREG(mode):
        return False
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=handle), "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        return False
    with suppress(OSError):  # full: then it is renamed in its place
        target.write_bytes(content)
        return True
    return False


_LARGEST = 1 << 20
"""Bytes of a file that is copied to another file system: settings are small, and a command may make it huge."""
