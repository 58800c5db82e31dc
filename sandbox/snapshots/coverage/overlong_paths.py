"""Paths that are too long for the system to name: no snapshot holds them, so undo does not cover them."""

from __future__ import annotations

import os
from pathlib import Path

_LONGEST = 4095
"""Bytes of a path (Linux: PATH_MAX, with the byte at its end)."""

_MOST_FOLDERS = 100_000


def find_overlong_folders(root: Path, since: float) -> list[str]:
    """Return the folders, relative to `root`, with entries whose path cannot be used and that changed since a time.

    since: seconds since 1970. A command makes such entries from inside, folder by folder. Git folders are left out.
    """
    found = []
    waiting = [""]
    for folder in waiting:  # grows meanwhile
        if len(waiting) > _MOST_FOLDERS:
            break
        place = f"{root}/{folder}" if folder else str(root)
        try:
            with os.scandir(place) as entries:
                near = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:  # closed to us, or gone
            continue
        room = _LONGEST - len(os.fsencode(place)) - 1
        overlong = [name for name, _ in near if len(os.fsencode(name)) > room]
        if any(_has_changed(place, name, since) for name in overlong):
            found.append(folder)
        prefix = f"{folder}/" if folder else ""
        waiting += [
            prefix + name for name, is_folder in near if is_folder and name != ".git" and name not in overlong
        ]
    return found


def _has_changed(folder: str, name: str, since: float) -> bool:
    """Whether an entry changed since a time. Its path is too long, but the folder's is not."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone
        return False
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False).st_ctime >= since
    except OSError:
        return False
    finally:
        os.close(handle)
