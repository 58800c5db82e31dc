"""Files and folders of Patchwright's own data: for the user alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def create_private_folder(path: Path) -> None:
    """Create a folder, and its missing parents, with mode 0700. Raises OSError."""
    missing = []
    place = path
    while not place.is_dir() and place != place.parent:
        missing.append(place)
        place = place.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another session was quicker
            each.mkdir(mode=0o700)
    if not path.is_dir():  # a file is in its place
        path.mkdir(mode=0o700)


def open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600 if it is new, for `open(…, opener=open_private)`."""
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def write_private_file(path: Path, content: bytes) -> None:
    """Write a file with mode 0600; one that exists keeps its mode."""
    with open(path, "wb", opener=open_private) as file:
        file.write(content)


def close_to_others(folder: Path) -> None:
    """Take the rights of others from a folder of an older version and all in it, if it is this user's.

    The folder itself comes last: while it is open, its content has not been looked at as a whole. Links are not
    followed, and what another user has put there stays.
    """
    with suppress(OSError):  # missing
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or not info.st_mode & _OTHERS:
            return
        for place, _, names in os.walk(folder, topdown=False):
            for name in names:
                _close_entry(Path(place, name))
            _close_entry(Path(place))


_OTHERS = 0o077


def _close_entry(path: Path) -> None:
    with suppress(OSError):  # removed meanwhile
        info = path.lstat()
        is_plain = stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)
        if is_plain and info.st_uid == os.geteuid() and info.st_mode & _OTHERS:
            path.chmod(stat.S_IMODE(info.st_mode) & ~_OTHERS)
