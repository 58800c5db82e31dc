"""Compare the guarded paths of a workspace before and after a command: report changes, move forbidden
entries aside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sandbox.fs.placeholders import is_placeholder
from sandbox.fs.protected_paths import GIT, HELD, ProtectedPaths
from sandbox.process.command import Command

_ACTED_ON = ("config", "config.worktree", "hooks", "info/attributes", "commondir")
"""Entries of a git folder that make git run a program. The rest changes with every commit that Patchwright makes."""

_MOST_FILES = 2000
"""Files examined per guarded folder: more than any has; a walk must end."""

_HASHED = 1 << 20
"""Bytes of a file that are hashed: settings and hooks are small. A larger file is compared by identity only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """State of a file: its identity, which only the kernel sets, and its content."""

    identity: tuple[int, ...]
    content: str


class Audit:
    """Snapshot of the guarded paths, taken on construction.

    aside: a folder of Patchwright's, to which new entries under a guarded name are moved; None to leave them
    """

    def __init__(self, root: Path, places: ProtectedPaths, aside: Path | None) -> None:
        self._root = root
        self._places = places
        self._aside = aside
        self._before = dict(self._collect_marks())

    def finish(self) -> tuple[str, ...]:
        """Return one line for each path that changed since; nothing that existed before is modified."""
        after = dict(self._collect_marks())
        lines = []
        for path in sorted(self._before.keys() | after.keys()):
            old, new = self._before.get(path), after.get(path)
            if old == new or (old and new and old.content == new.content != ""):
                continue
            lines.append(self._describe_change(path, old, new))
        return tuple(lines)

    def _describe_change(self, path: Path, old: Mark | None, new: Mark | None) -> str:
        word = "changed" if old and new else "removed" if old else "made"
        if (
            old is None
            and path not in self._places.watched
            and self._aside
            and self._move_aside(path, self._aside)
        ):
            word = f"made, and moved to {str(self._aside)!r}"
        name = path.relative_to(self._root) if self._root in path.parents else path
        return f"{str(name)!r} was {word}"

    def _move_aside(self, path: Path, aside: Path) -> bool:
        """Move away a guarded entry that did not exist before; its creator can recover it from there."""
        if (
            path.parent != self._root
        ):  # a new file in an existing guarded folder: not made by a command, which the kernel blocks
            return False
        import shutil

        try:
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(path, aside / f"{path.name}.{os.urandom(4).hex()}")
        except OSError:  # it is being changed, or not accessible: then it is at least reported
            return False
        return True

    def _collect_marks(self) -> Iterator[tuple[Path, Mark]]:
        places = self._places
        tops = (*places.there, *places.links, *places.folders, *places.files, *places.watched)
        try:
            names = set(os.listdir(self._root))
        except OSError:  # the workspace itself is gone
            return
        for place in dict.fromkeys(tops):
            if place.parent == self._root and place.name not in names:
                continue
            if place.name in HELD and is_placeholder(place):
                continue
            if place in places.installed:
                continue
            # A folder created under a guarded name is one entry; in one that existed, each file counts.
            is_old = place in places.there
            for path in _iterate_files(place) if is_old else (place,):
                if (mark := _read_mark(path)) is not None:
                    yield path, mark


class NoAudit:
    def finish(self) -> tuple[str, ...]:
        return ()


def start_audit(command: Command, root: Path, places: ProtectedPaths, spill: Path | None) -> Audit | NoAudit:
    """Start the audit of a command; a resident command has none. spill: as for a sandbox"""
    return NoAudit() if command.resident else Audit(root, places, spill and spill / "refused")


def _iterate_files(place: Path) -> Iterator[Path]:
    if place.is_symlink() or not place.is_dir():
        yield place
        return
    is_git = place.name == GIT or (place / "HEAD").is_file()
    starts: Sequence[Path] = [place / name for name in _ACTED_ON] if is_git else [place]
    left = _MOST_FILES
    for start in starts:
        if not start.is_dir():
            yield start
            continue
        for folder, _, names in os.walk(start):
            for name in names[:left]:
                yield Path(folder, name)
            left -= len(names)
            if left <= 0:
                return


def _read_mark(path: Path) -> Mark | None:
    try:
        found = path.lstat()
    except OSError:  # missing
        return None
    identity = (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
    if stat.S_ISREG(found.st_mode) and found.st_size <= _HASHED:
        return Mark(identity=identity, content=f"{found.st_mode} {_hash_content(path, identity)}")
    if stat.S_ISLNK(found.st_mode):
        with suppress(OSError):  # it disappeared: the identity alone decides
            return Mark(identity=identity, content=f"link {path.readlink()}")
    if stat.S_ISDIR(found.st_mode):
        return Mark(identity=identity, content="folder")
    return Mark(identity=identity, content="")


@lru_cache(maxsize=4096)
def _hash_content(path: Path, identity: tuple[int, ...]) -> str:
    """Return the hash of the content, read once per identity: an audit without changes opens no file."""
    import hashlib

    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(_HASHED)).hexdigest()
    except OSError:  # not readable: compared by identity only
        return str(identity)
