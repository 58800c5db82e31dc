"""Files that a later snapshot has because they became visible, not because they were created."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.snapshots.path_state import GIT_FILE, GIT_NESTED, Change
from sandbox.snapshots.snapshot_view import View, compare_views
from sandbox.snapshots.workspace_scan import Walker

_RULES = ".gitignore"


def compute_changes(before: View, after: View) -> list[Change]:
    """Return every path that changed between two snapshots, sorted.

    A file that the older rules ignored may have existed all the time: it does not count as changed, so that
    no commit includes it and no undo removes it.
    """
    changes = compare_views(before, after)
    hidden = _find_hidden_before(before, changes)
    return [change for change in changes if change.path not in hidden] if hidden else changes


def find_newly_visible(before: View, after: View) -> set[str]:
    """Return the newly visible files: their changes until the second snapshot are unknown."""
    return _find_hidden_before(before, compare_views(before, after))


def _find_hidden_before(before: View, changes: Sequence[Change]) -> set[str]:
    return _find_ignored_before(before, changes) | _find_nested_before(changes)


def _find_ignored_before(before: View, changes: Sequence[Change]) -> set[str]:
    added = [change.path for change in changes if change.kind == "added"]
    if not added or not any(_is_ignore_file(change.path) for change in changes):
        return set()
    with tempfile.TemporaryDirectory(prefix="patchwright-rules-") as folder:
        for path in filter(_is_ignore_file, before.list_files()):
            entry = before.find_entry(path)
            if entry is not None and entry[0] == GIT_FILE:
                place = Path(folder, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(before.store.read(entry[1]))
        return Walker(Path(folder), before.store.folder).find_ignored(added)


def _find_nested_before(changes: Sequence[Change]) -> set[str]:
    """Return files of a former nested repository: its contents were not recorded."""
    folders = tuple(
        f"{change.path}/" for change in changes if change.before and change.before.mode == GIT_NESTED
    )
    return {change.path for change in changes if change.kind == "added" and change.path.startswith(folders)}


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] == _RULES
