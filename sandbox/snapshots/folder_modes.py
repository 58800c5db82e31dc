"""Permissions of folders: changes within a span, and reverting them around the restoration of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from sandbox.snapshots.path_state import Change
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.working_tree import WorkingTree

_OWNER = 0o700
"""Rights needed to list a folder, to enter it, and to create entries in it."""

Spans = Sequence[tuple[View, View, Sequence[Change]]]
"""Before, after, and the files that changed; the oldest first."""


@contextmanager
def restore_folder_modes(workspace: WorkingTree, spans: Spans) -> Iterator[dict[str, int]]:
    """Open folders that were closed meanwhile, while files are restored.

    Yields the permissions that folders get afterwards. A folder whose permissions were changed by others since
    keeps them.
    """
    wanted, closed = {}, {}
    for path in sorted(_find_candidates(spans)):  # parents first, so that their children can be read
        history = [
            (before.get_folder_mode(path), after.get_folder_mode(path))
            for before, after, _ in reversed(spans)
        ]
        now = workspace.read_folder_mode(path)
        mode = _remove_mode_changes(history, now)
        if mode == now:
            continue
        if mode is not None:
            wanted[path] = mode
        if now is not None and now & _OWNER != _OWNER:  # with mode None it is to be removed
            closed[path] = now
            workspace.set_folder_mode(path, now | _OWNER)
    try:
        yield wanted
    finally:
        modes = {**closed, **wanted}
        for path, mode in sorted(
            modes.items(), reverse=True
        ):  # children first: their parents may become inaccessible
            if workspace.read_folder_mode(path) not in (None, mode):
                workspace.set_folder_mode(path, mode)


def _find_candidates(spans: Spans) -> set[str]:
    """Return folders that may have come, gone, or got other permissions; none if a snapshot does not record these."""
    found: set[str] = set()
    for before, after, changes in spans:
        old, new = before.extra, after.extra
        if not (old.folder and new.folder):
            return set()
        hollow = old.empty ^ new.empty
        paths = [change.path for change in changes if change.before is None or change.after is None]
        found |= hollow | {str(each) for path in (*paths, *hollow) for each in PurePosixPath(path).parents}
        found |= {
            path
            for path in old.folders.keys() | new.folders.keys()
            if before.get_folder_mode(path) != after.get_folder_mode(path)
        }
    return {"" if path == "." else path for path in found}


def _remove_mode_changes(history: Sequence[tuple[int | None, int | None]], now: int | None) -> int | None:
    """Return permissions with the changes (the newest first) reverted; None for no folder."""
    mode = now
    for before, after in history:
        if mode == after or (mode is not None and after is not None and mode == after | _OWNER):
            mode = before
    return mode
