"""Inventory of a workspace for its guards: one bounded walk, later only the folders that changed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.guards import ALLOWED_REPOSITORIES
from sandbox.guards.folder_record import GIT, FolderRecord, Identity, list_folder, read_signature
from sandbox.guards.self_run_files import FOLDERS

if TYPE_CHECKING:
    from sandbox.snapshots.folder_watch import Watch

SKIPPED = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".mypy_cache"})
"""Folders that package managers and builds fill and remove: nobody opens them to work in, so existing names in
them are not guarded. New git folders and hard links are looked for there too."""

MOST_REPOSITORIES = 200
MOST_SELF_RUN = 32
"""Guarded places below the top, nearest first. Each costs bubblewrap 0.7 ms, the square of it for hundreds."""

_ACTED_ON = ["HEAD", "config", "config.worktree", "hooks", "commondir", "info/attributes"]
"""Entries of a git folder that make git run a program."""

_GUARDED_WHOLE = frozenset(FOLDERS)

_MOST_FOLDERS = 100_000
_MOST_ENTRIES = 1_000_000
"""Bounds of the first walk, for a home folder or a disk that was opened as a workspace: some seconds. As much again
may come later."""

_WORTH_WATCHING = 300
"""Folders from which on the kernel is asked to report changes: looking at fewer takes less than a millisecond."""


class Inventory:
    """Folders of one workspace, with what matters to its guards. Safe from several threads."""

    def __init__(self, root: Path, *, worth_watching: int = _WORTH_WATCHING) -> None:
        self.root = root
        self.is_complete = True
        self._lock = threading.RLock()
        self._watch: Watch | None = None
        self._worth_watching = worth_watching
        self._records: dict[str, FolderRecord] = {}
        self._notable: dict[str, FolderRecord] = {}
        self._entries = 0
        self._share = 1
        self._repositories: frozenset[str] | None = None

    @property
    def allows_repository(self) -> Callable[[str], bool]:
        """The user's rule on git folders at a path."""
        return ALLOWED_REPOSITORIES.get(self.root, _allow_none)

    @property
    def is_loaded(self) -> bool:
        """Whether the walk of the whole workspace is done."""
        return bool(self._records)

    def refresh(self) -> None:
        """Bring the inventory up to date. Without changes: a system call, or one for each folder."""
        with self._lock:
            if not self._records:
                self._walk([""])
                self._share = 2
                return
            for folder in self._find_stale():
                if folder in self._records:
                    self._list_again(folder)

    def reload(self) -> None:
        """List every folder again: link counts change without the folders of the other names."""
        with self._lock:
            for folder in list(self._records):
                if folder in self._records:
                    self._list_again(folder)

    def list_repositories(self) -> frozenset[str]:
        """Return the folders that git takes for a repository's data, and `.git` files and links; not the top's."""
        with self._lock:
            if self._repositories is None:
                notable = self._notable.items()
                found = [folder for folder, record in notable if record.is_git]
                found += [_join(folder, GIT) for folder, record in notable if GIT in record.marked]
                self._repositories = frozenset(found) - {GIT}
            return self._repositories

    def list_guarded(self) -> tuple[Path, ...]:
        """Return the places below the top to guard: repositories, then other names of the table, nearest first."""
        with self._lock:
            repositories = [each for each in self.list_repositories() if not self.allows_repository(each)]
            others = [
                _join(folder, name)
                for folder, record in self._notable.items()
                if folder and _GUARDED_WHOLE.isdisjoint(folder.split("/"))
                for name in record.marked
                if name != GIT
            ]
        chosen = _pick_nearest([each for each in repositories if each], MOST_REPOSITORIES)
        chosen += _pick_nearest(others, MOST_SELF_RUN)
        if "" in repositories:  # the workspace itself is a bare repository
            chosen += _ACTED_ON
        return tuple(self.root / each for each in chosen)

    def list_linked(self) -> Mapping[Identity, list[tuple[str, str, int]]]:
        """Return the files with several names: folder, name and link count of each name, by identity."""
        found: dict[Identity, list[tuple[str, str, int]]] = {}
        with self._lock:
            for folder, record in self._notable.items():
                for each in record.linked:
                    found.setdefault(each.identity, []).append((folder, each.name, each.count))
        return {identity: sorted(names) for identity, names in found.items()}

    def list_folders(self) -> list[str]:
        """Return all walked folders, relative; "" is the top."""
        with self._lock:
            return list(self._records)

    def _find_stale(self) -> Collection[str]:
        happened = self._watch.read_changes() if self._watch else None
        if happened is not None:
            for folder in happened.anew:
                self._forget(folder)
            return happened.touched | {folder.rpartition("/")[0] for folder in happened.anew}
        if len(self._records) >= self._worth_watching:
            self._start_watch()
        top = str(self.root)
        return [
            folder
            for folder, record in self._records.items()
            if not record.certain or read_signature(f"{top}/{folder}" if folder else top) != record.signature
        ]

    def _start_watch(self) -> None:
        """Watch all folders. Where that is impossible it is not tried again."""
        from sandbox.snapshots.folder_watch import Watch

        self._watch = Watch(self.root)
        self._watch.start()
        for folder in self._records:
            self._watch.add(folder)
        if self._watch.read_changes() is None:
            self._watch = None
            self._worth_watching = 2 * _MOST_FOLDERS + 1

    def _list_again(self, folder: str) -> None:
        old = self._records[folder]
        new = self._list(folder)
        if new is None:
            self._forget(folder)
            return
        for name in set(old.below) - set(new.below):
            self._forget(_join(folder, name))
        self._walk([path for name in new.below if (path := _join(folder, name)) not in self._records])

    def _walk(self, folders: Iterable[str]) -> None:
        """List folders and all below them, nearest first."""
        waiting = deque(folders)
        while waiting:
            most = self._share * _MOST_FOLDERS, self._share * _MOST_ENTRIES
            if len(self._records) >= most[0] or self._entries >= most[1]:
                self.is_complete = False
                return
            folder = waiting.popleft()
            record = self._list(folder)
            if record is not None:
                waiting.extend(_join(folder, name) for name in record.below)

    def _list(self, folder: str) -> FolderRecord | None:
        if self._watch:
            self._watch.add(folder)  # before it is listed, so that no change is missed
        record = list_folder(f"{self.root}/{folder}" if folder else str(self.root))
        old = self._records.pop(folder, None)
        self._entries += (record.entries if record else 0) - (old.entries if old else 0)
        if record is not None:
            if record.is_git and self._is_closed(folder):
                record = replace(record, below=(), linked=(), marked=())
            self._records[folder] = record
        if record is not None and record.is_notable:
            self._notable[folder] = record
        else:
            self._notable.pop(folder, None)
        self._repositories = None
        return record

    def _is_closed(self, folder: str) -> bool:
        """Whether a git folder is guarded as a whole, so that nothing in it can change."""
        return bool(folder) and not _is_skipped(folder) and not self.allows_repository(folder)

    def _forget(self, folder: str) -> None:
        """Drop a folder that is gone, and all below it."""
        waiting = [folder]
        while waiting:
            path = waiting.pop()
            record = self._records.pop(path, None)
            if record is None:
                continue
            self._notable.pop(path, None)
            self._entries -= record.entries
            waiting += [_join(path, name) for name in record.below]
        self._repositories = None


@lru_cache(maxsize=4)
def open_inventory(root: Path) -> Inventory:
    """Return the inventory of a workspace, which everything in this process shares. root: resolved"""
    return Inventory(root)


def _allow_none(path: str) -> bool:
    return False


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _is_skipped(path: str) -> bool:
    return not SKIPPED.isdisjoint(path.split("/"))


def _pick_nearest(paths: Iterable[str], most: int) -> list[str]:
    return sorted(
        (each for each in paths if not _is_skipped(each)), key=lambda path: (path.count("/"), path)
    )[:most]
