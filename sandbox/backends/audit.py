"""Compare the guarded paths of a workspace before and after a command: report changes, move forbidden
entries aside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from sandbox.fs.placeholders import is_placeholder
from sandbox.fs.protected_paths import (
    BARE,
    GIT,
    HELD,
    IN_A_HOME,
    IN_A_HOME_FOLDERS,
    ProtectedPaths,
    find_protected_paths,
)
from sandbox.fs.regular_file import UnsafeFileError, read_entry
from sandbox.guards.folder_handles import move_entry_aside
from sandbox.guards.new_repositories import disable_repositories
from sandbox.guards.self_run_files import list_top_entries, list_unknown_settings
from sandbox.guards.workspace_inventory import Inventory, open_inventory
from sandbox.secrets.child_environment import list_homes

_ACTED_ON = ("config", "config.worktree", "hooks", "info/attributes", "commondir")
"""Entries of a git folder that make git run a program. The rest changes with every commit that Patchwright makes."""

_OTHER_NAMES = frozenset((GIT, BARE))
_HOME_NAMES = frozenset((*IN_A_HOME_FOLDERS, *IN_A_HOME))

_MOST_FILES = 2000
"""Files examined per guarded folder: more than any has; a walk must end."""

_HASHED = 1 << 20
"""Bytes of a file that are hashed: settings and hooks are small. A larger file is compared by identity only."""


class Mark(NamedTuple):
    """State of a file: its identity, which only the kernel sets, and its content. A tuple: dozens for each command."""

    identity: tuple[int, ...]
    content: str


class Audit:
    """Comparison of the guarded paths with a snapshot of them.

    inventory: refreshed just before
    aside: a folder of Patchwright's, to which new entries under a guarded name are moved; None to leave them
    notes: lines about preparations, to be reported with the changes
    """

    def __init__(
        self, inventory: Inventory, places: ProtectedPaths, aside: Path | None, notes: Sequence[str] = ()
    ) -> None:
        self.places = places
        self._inventory = inventory
        self._root = inventory.root
        self._aside = aside
        self._notes = notes
        self._is_home = self._root in list_homes()
        self._repositories = inventory.list_repositories()
        self._before: Mapping[str, Mark] | None = None
        self._lines: tuple[str, ...] | None = None

    def record_state(self) -> None:
        """Take the snapshot; to be called before the first instruction of the command."""
        self._before = dict(self._collect_marks())

    def finish(self) -> tuple[str, ...]:
        """Return one line for each path that changed since; nothing that existed before is modified.

        A second call returns the same lines: the first may be that of an interrupted command.
        """
        if self._lines is None:
            self._lines = (*self._notes, *self._compare_marks(), *self._find_new_repositories())
        return self._lines

    def _compare_marks(self) -> Iterator[str]:
        if self._before is None:  # the command was never started
            return
        after = dict(self._collect_marks())
        for path in sorted(self._before.keys() | after.keys()):
            old, new = self._before.get(path), after.get(path)
            if old == new or (old and new and old.content == new.content != ""):
                continue
            if old is None and not os.path.lexists(path):  # moved away with a link in its path
                continue
            yield self._describe_change(Path(path), old, new)

    def _find_new_repositories(self) -> Iterator[str]:
        self._inventory.refresh()
        new = self._inventory.list_repositories() - self._repositories
        allows = self._inventory.allows_repository
        # A `.git` at the top is compared like every guarded name.
        found = sorted(each for each in new if not allows(each) and os.path.lexists(self._root / each))
        if found:
            yield disable_repositories(self._root, found, self._aside)

    def _describe_change(self, path: Path, old: Mark | None, new: Mark | None) -> str:
        word = "changed" if old and new else "removed" if old else "made"
        if old is None and path not in self.places.watched and self._aside and self._is_new_name(path):
            moved = move_entry_aside(self._root, _find_new_link(self._root, path), self._aside)
            if moved is not None:
                word = f"made, and moved to {str(moved.parent)!r}"
        name = path.relative_to(self._root) if self._root in path.parents else path
        return f"{str(name)!r} was {word}"

    def _is_new_name(self, path: Path) -> bool:
        """Whether a path is a guarded name, not a file in a guarded folder that existed: not made by a command,
        which the kernel blocks."""
        return path in self.places.missing or path in self._new_names

    def _collect_marks(self) -> Iterator[tuple[str, Mark]]:
        """Yield path and mark of each entry that counts. Works on plain strings: it runs twice for each command."""
        places = self.places
        top = str(self._root)
        try:
            names = set(os.listdir(top))
        except OSError:  # the workspace itself is gone
            return
        self._new_names = {self._root / name for name in names & _OTHER_NAMES}
        if self._is_home:
            self._new_names |= {self._root / name for name in names & _HOME_NAMES}
        self._new_names.update(list_top_entries(self._root, names))
        self._new_names.update(list_unknown_settings(self._root, names))
        tops = (*places.there, *places.links, *places.missing, *places.watched, *self._new_names)
        old = frozenset(map(str, places.there))
        installed = frozenset(map(str, places.installed))
        for place in dict.fromkeys(map(str, tops)):
            folder, _, name = place.rpartition("/")
            if folder == top and name not in names:
                continue
            if name in HELD and is_placeholder(place):
                continue
            if place in installed:
                continue
            # A folder created under a guarded name is one entry; in one that existed, each file counts.
            for path in _iterate_files(place) if place in old else (place,):
                if (mark := _read_mark(path)) is not None:
                    yield path, mark


def _find_new_link(root: Path, path: Path) -> str:
    """Return a missing file's path, or the first link on it: that is new too, since links were resolved before."""
    parts = path.relative_to(root).parts
    shorter = ("/".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next((each for each in shorter if (root / each).is_symlink()), "/".join(parts))


class NoAudit:
    def __init__(self, places: ProtectedPaths, notes: Sequence[str] = ()) -> None:
        self.places = places
        self._notes = tuple(notes)

    def record_state(self) -> None:
        """Do nothing."""

    def finish(self) -> tuple[str, ...]:
        return self._notes


def audit_workspace(root: Path, aside: Path | None) -> Audit:
    """Start an audit of a workspace for a client that runs resident commands. aside: as for `Audit`"""
    inventory = open_inventory(root)
    inventory.refresh()
    audit = Audit(inventory, find_protected_paths(root, inventory.list_guarded()), aside)
    audit.record_state()
    return audit


def _iterate_files(place: str) -> Iterator[str]:
    if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114 (strings)
        yield place
        return
    is_git = place.endswith(f"/{GIT}") or os.path.isfile(f"{place}/HEAD")  # noqa: PTH113 (a string)
    starts: Sequence[str] = [f"{place}/{name}" for name in _ACTED_ON] if is_git else [place]
    left = _MOST_FILES
    for start in starts:
        if not os.path.isdir(start):  # noqa: PTH112 (a string)
            yield start
            continue
        for folder, _, names in os.walk(start):
            for name in names[:left]:
                yield f"{folder}/{name}"
            left -= len(names)
            if left <= 0:
                return


def _read_mark(path: str) -> Mark | None:
    try:
        found = os.lstat(path)
    except OSError:  # missing
        return None
    mode = found.st_mode
    identity = (found.st_dev, found.st_ino, mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if stat.S_ISREG(mode) and found.st_size <= _HASHED:
        return Mark(identity, f"{mode} {_hash_content(path, identity)}")
    if stat.S_ISLNK(mode):
        with suppress(OSError):  # it disappeared: the identity alone decides
            return Mark(identity, f"link {os.readlink(path)}")  # noqa: PTH115 (a string)
    if stat.S_ISDIR(mode):
        return Mark(identity, "folder")
    return Mark(identity, "")


@lru_cache(maxsize=4096)
def _hash_content(path: str, identity: tuple[int, ...]) -> str:
    """Return the hash of the content, read once per identity: an audit without changes opens no file."""
    import hashlib

    try:
        return hashlib.sha256(read_entry(path, _HASHED)).hexdigest()
    except (OSError, UnsafeFileError):  # not readable: compared by identity only
        return str(identity)
