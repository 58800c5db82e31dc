"""Change times of files: separate changes of a killed command from later changes by others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from sandbox.snapshots.path_state import GIT_NESTED, Change
from sandbox.snapshots.snapshot_view import View

Moments = tuple[int, int]
"""From and to, in nanoseconds since the epoch, both included."""

_CLOCK_TICK_NS = 20_000_000
"""Kernels stamp files with a clock that may lag so far behind the one that programs read."""


def find_writes_within(
    root: Path, before: View, changes: Iterable[Change], moments: Moments, surely: Collection[str] = ()
) -> Mapping[str, bytes | None]:
    """Return content by path (None: removed) of those changes that were certainly made, and ended, within
    these moments.

    A file's change time is set by every operation on it, and cannot be set by hand. A file that two may have
    changed is left out; so is a folder that was moved or added to later, with every new file in it.

    surely: paths already known to have changed within them
    """
    found: dict[str, bytes | None] = {}
    for change in changes:
        states = (change.before, change.after)
        if any(state is not None and state.mode == GIT_NESTED for state in states):
            continue
        if change.path in surely or _is_within(_find_latest_moment(root, before, change), moments):
            state = change.after
            found[change.path] = (
                None if state is None else before.store.read(state.id) if state.is_kept else b""
            )
    return found


def _is_within(moment: int, moments: Moments) -> bool:
    return moments[0] - _CLOCK_TICK_NS <= moment <= moments[1]


def _find_latest_moment(root: Path, before: View, change: Change) -> int:
    """Return the last change time of a path and of the folders that are new with it; -1 if unknown."""
    path = PurePosixPath(change.path)
    try:
        if change.after is None:
            parent = next(each for each in path.parents if (root / each).is_dir())
            return (root / parent).stat().st_ctime_ns
        new = [str(each) for each in path.parents if str(each) != "." and not before.has_folder(str(each))]
        return max((root / each).lstat().st_ctime_ns for each in (change.path, *new))
    except (OSError, StopIteration):
        return -1
