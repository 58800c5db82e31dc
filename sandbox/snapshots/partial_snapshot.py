"""Build a snapshot with only selected changes: the rest stays as it was before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

from sandbox.snapshots.object_store import EMPTY_TREE, Entry, Store
from sandbox.snapshots.path_state import GIT_FILE, GIT_TREE, SnapshotMetadata
from sandbox.snapshots.snapshot_view import View, compare_views

_Fact = TypeVar("_Fact")


def build_partial_view(before: View, after: View, written: Mapping[str, bytes | None]) -> View | None:
    """Return `before` with only the written files changed; None if that is `after` itself.

    written: content by path, None for a file that was removed; its mode and folders are those of `after`
    """
    store = after.store
    ours: dict[str, Entry | None] = {}
    for path, content in written.items():
        there = after.find_entry(path)
        if content is None:
            ours[path] = None
        elif there is None and path not in after.extra.large and before.find_entry(path) is None:
            continue  # ignored, and so in neither; or gone again, and then unchanged
        elif there is not None or path not in after.extra.large:
            ours[path] = (there[0] if there else GIT_FILE, store.write("blob", content))
    changed = {change.path for change in compare_views(before, after)}
    if changed <= written.keys() and all(after.find_entry(path) == entry for path, entry in ours.items()):
        return None
    tree = _update_tree(store, before.tree, ours)
    return View(store=store, tree=tree, extra=_merge_metadata(before, after, written, tree))


def _update_tree(store: Store, tree: str, entries: Mapping[str, Entry | None]) -> str:
    """Return the tree with some of its files set, or removed."""
    found = store.read_tree(tree)
    below: dict[str, dict[str, Entry | None]] = {}
    for path, entry in entries.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = entry
        elif entry is not None:
            found[name] = entry
        elif found.get(name, (GIT_TREE, ""))[0] != GIT_TREE:
            del found[name]
    for name, inner in below.items():
        folder = found.get(name, (0, ""))
        changed = _update_tree(store, folder[1] if folder[0] == GIT_TREE else EMPTY_TREE, inner)
        if changed != EMPTY_TREE:
            found[name] = (GIT_TREE, changed)
        elif folder[0] == GIT_TREE:
            del found[name]
    return store.write_tree(found) if found else EMPTY_TREE


def _merge_metadata(
    before: View, after: View, written: Mapping[str, bytes | None], tree: str
) -> SnapshotMetadata:
    old, new = before.extra, after.extra
    store = after.store
    parents = {str(each) for path in written for each in PurePosixPath(path).parents} - {"."}
    made = {path for path in parents if not before.has_folder(path)}
    empty = (old.empty - parents) | (new.empty & parents)

    def is_folder(path: str) -> bool:
        entry = store.find_entry(tree, path)
        return entry is not None and entry[0] == GIT_TREE

    return replace(
        old,
        modes=_replace_facts(old.modes, new.modes, written),
        large=_replace_facts(old.large, new.large, written),
        special=_replace_facts(old.special, new.special, written),
        hidden=(old.hidden - written.keys()) | (new.hidden & written.keys()),
        folders=_replace_facts(old.folders, new.folders, made),
        empty=frozenset(path for path in empty if not is_folder(path)),
    )


def _replace_facts(
    old: Mapping[str, _Fact], new: Mapping[str, _Fact], paths: Collection[str]
) -> dict[str, _Fact]:
    kept = {path: fact for path, fact in old.items() if path not in paths}
    return kept | {path: fact for path, fact in new.items() if path in paths}
