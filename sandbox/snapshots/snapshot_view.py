"""One snapshot as read from the store, and the comparison of two."""

from __future__ import annotations

import stat
from collections.abc import Mapping

from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.object_store import EMPTY_TREE, Entry, Store
from sandbox.snapshots.path_state import GIT_TREE, Change, SnapshotMetadata, State


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One snapshot: its tree of files and the facts that the tree cannot hold."""

    store: Store
    tree: str
    extra: SnapshotMetadata

    @staticmethod
    def load(store: Store, snapshot: str) -> View:
        entries = store.read_tree(snapshot)
        extra = SnapshotMetadata.decode(store.read(entries["extra"][1]))
        return View(store=store, tree=entries["files"][1], extra=extra)

    def build_state(self, path: str, entry: Entry | None) -> State | None:
        """Return the full state of the tree's `entry` at `path`; what has no content there has no entry."""
        if entry is not None:
            return self.extra.build_state(path, *entry)
        if path in self.extra.special:
            mode, mark = self.extra.special[path]
            return State(mode=mode, id=mark)
        mode, mark = self.extra.large.get(path, (0, ""))
        return State(mode=stat.S_IFREG | mode, id=mark) if mark else None

    def find_entry(self, path: str) -> Entry | None:
        """Return the tree's entry at one path, None if there was no file."""
        entry = self.store.find_entry(self.tree, path)
        return None if entry and entry[0] == GIT_TREE else entry

    def has_folder(self, path: str) -> bool:
        """Return whether there was a folder at `path`, with or without files."""
        entry = self.store.find_entry(self.tree, path)
        if entry and entry[0] == GIT_TREE:
            return True
        below = path + "/"
        others = (*self.extra.empty, *self.extra.large, *self.extra.special)
        return path in self.extra.empty or any(each.startswith(below) for each in others)

    def get_folder_mode(self, path: str) -> int | None:
        """Return the permission bits of the folder at `path` ("" is the workspace), None if there was none."""
        there = not path or self.has_folder(path)
        return self.extra.folders.get(path, self.extra.folder) if there else None

    def list_files(self) -> set[str]:
        """Return all paths that have a state."""
        listed = {path for path, _ in self.store.iterate_differences(EMPTY_TREE, self.tree)}
        return listed | self.extra.large.keys() | self.extra.special.keys()


def compare_views(before: View, after: View) -> list[Change]:
    """Return every path whose state differs, sorted."""
    entries = dict(before.store.iterate_differences(before.tree, after.tree))
    old_facts, new_facts = before.extra, after.extra
    others = _find_unequal_keys(old_facts.modes, new_facts.modes)
    others |= _find_unequal_keys(old_facts.large, new_facts.large)
    others |= _find_unequal_keys(old_facts.special, new_facts.special)
    if before.extra.usual != after.extra.usual:  # any file's mode may differ
        others |= before.list_files() | after.list_files()
    entries.update(
        (path, (before.find_entry(path), after.find_entry(path))) for path in others - entries.keys()
    )
    changes = []
    for path, (left, right) in sorted(entries.items()):
        old, new = before.build_state(path, left), after.build_state(path, right)
        if old != new and not _is_same_large_file(old_facts, new_facts, path, (left, right)):
            changes.append(Change.from_states(path, old, new))
    return changes


def _is_same_large_file(
    before: SnapshotMetadata, after: SnapshotMetadata, path: str, entries: tuple[Entry | None, Entry | None]
) -> bool:
    """Return whether it is a large file whose content came to be kept, and which did not change."""
    return None in entries and path in before.large and before.large[path] == after.large.get(path)


def _find_unequal_keys(left: Mapping[str, object], right: Mapping[str, object]) -> set[str]:
    return {path for path in left.keys() | right.keys() if left.get(path) != right.get(path)}
