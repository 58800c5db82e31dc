"""What one folder of a workspace contributes to its guards, read in one listing."""

from __future__ import annotations

import os
import stat
import time

from sandbox.guards.self_run_files import is_self_run
from sandbox.lazy_dataclass import dataclass

GIT = ".git"

Identity = tuple[int, int]
"""st_dev, st_ino."""

_CLOCK_TICK_NS = 20_000_000
"""Kernels stamp folders with a clock that may lag so far behind: a change after the listing may not show."""

_GIT_PARTS = frozenset(("HEAD", "objects", "refs", "commondir"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFile:
    """A regular file with several names. count: how many it had when it was listed"""

    name: str
    identity: Identity
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRecord:
    """One folder as it was listed.

    signature: device, inode and change time, which any new, removed or renamed entry changes and nobody can set
    certain: no change can hide behind the same signature
    below: names of folders in it that are walked too
    marked: names that programs act on by themselves, `.git` files and links included
    is_git: git takes this folder for a repository's data, whatever its name
    entries: number of entries
    """

    signature: tuple[int, int, int]
    certain: bool
    below: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    linked: tuple[LinkedFile, ...] = ()
    is_git: bool = False
    entries: int = 0

    @property
    def is_notable(self) -> bool:
        """Whether the folder matters to any guard."""
        return bool(self.is_git or self.marked or self.linked)


def read_signature(path: str) -> tuple[int, int, int] | None:
    """Return a folder's signature, None if it is missing or no folder."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return (info.st_dev, info.st_ino, info.st_ctime_ns) if stat.S_ISDIR(info.st_mode) else None


def list_folder(path: str) -> FolderRecord | None:
    """List a folder; None if it is missing. One that may not be listed has no entries.

    git (setup.c: is_git_directory) takes a folder for a repository's if it has `HEAD`, and `objects` and `refs` or
    the name of a folder that has them, in `commondir`.
    """
    now = time.time_ns()
    signature = read_signature(path)
    if signature is None:
        return None
    certain = signature[2] < now - _CLOCK_TICK_NS
    own = path.rpartition("/")[2]
    below, marked, linked = [], [], []
    parts: set[str] = set()
    number = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                number += 1
                name = entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if name in _GIT_PARTS and not (is_folder and name == "HEAD"):  # else it is a placeholder
                    parts.add(name)
                if is_folder:
                    below.append(name)
                    if is_self_run(name, own):
                        marked.append(name)
                    continue
                if name == GIT or is_self_run(name, own):
                    marked.append(name)
                if not entry.is_file(follow_symlinks=False):
                    continue
                info = entry.stat(follow_symlinks=False)
                if info.st_nlink > 1:
                    identity = (info.st_dev, info.st_ino)
                    linked.append(LinkedFile(name=name, identity=identity, count=info.st_nlink))
    except OSError:  # not readable, or it changes meanwhile: then it is listed again the next time
        return FolderRecord(signature=signature, certain=not os.access(path, os.R_OK) and certain)
    is_git = "HEAD" in parts and ("commondir" in parts or {"objects", "refs"} <= parts)
    return FolderRecord(
        signature=signature,
        certain=certain,
        below=tuple(below),
        marked=tuple(marked),
        linked=tuple(linked),
        is_git=is_git,
        entries=number,
    )
