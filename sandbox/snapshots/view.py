"""One snapshot as read from the store, and the comparison of two."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.snapshots.state import GIT_TREE, Change, Extra, State
from sandbox.snapshots.store import EMPTY_TREE, Entry, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One snapshot: its tree of files and what the tree cannot hold."""

    store: Store
    tree: str
    extra: Extra

    @staticmethod
    def load(store: Store, snapshot: str) -> View:
        entries = store.tree(snapshot)
        extra = Extra.decode(store.read(entries["extra"][1]))
        return View(store=store, tree=entries["files"][1], extra=extra)

    def state(self, path: str, entry: Entry | None) -> State | None:
        """The full state of the tree's `entry` at `path`; a file too large to keep has none there."""
        if entry is not None:
            return self.extra.state(path, *entry)
        mode, mark = self.extra.large.get(path, (0, ""))
        return State(mode=stat.S_IFREG | mode, id=mark) if mark else None

    def find(self, path: str) -> Entry | None:
        """The tree's entry at one path, None if there was no file."""
        entry = self.store.find(self.tree, path)
        return None if entry and entry[0] == GIT_TREE else entry

    def has_folder(self, path: str) -> bool:
        """There was a folder at `path`, with or without files."""
        entry = self.store.find(self.tree, path)
        if entry and entry[0] == GIT_TREE:
            return True
        below = path + "/"
        return any(each == path or each.startswith(below) for each in (*self.extra.empty, *self.extra.large))

    def folder(self, path: str) -> int | None:
        """Permission bits of the folder at `path` ("" is the workspace), None if there was none."""
        there = not path or self.has_folder(path)
        return self.extra.folders.get(path, self.extra.folder) if there else None

    def files(self) -> set[str]:
        """All paths that have a state."""
        return {path for path, _ in self.store.differing(EMPTY_TREE, self.tree)} | self.extra.large.keys()


def compare(before: View, after: View) -> list[Change]:
    """Every path whose state differs, sorted."""
    entries = dict(before.store.differing(before.tree, after.tree))
    others = _unequal(before.extra.modes, after.extra.modes) | _unequal(before.extra.large, after.extra.large)
    if before.extra.usual != after.extra.usual:  # any file's mode may differ
        others |= before.files() | after.files()
    entries.update((path, (before.find(path), after.find(path))) for path in others - entries.keys())
    changes = []
    for path, (left, right) in sorted(entries.items()):
        old, new = before.state(path, left), after.state(path, right)
        if old != new:
            changes.append(Change.of(path, old, new))
    return changes


def _unequal(left: Mapping[str, object], right: Mapping[str, object]) -> set[str]:
    return {path for path in left.keys() | right.keys() if left.get(path) != right.get(path)}
