"""State of a path with some changes reverted and all others kept."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from functools import partial

from sandbox.fs.three_way_merge import MergeConflict, merge_lines, merge_values
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.path_state import GIT_NESTED, Change, State
from sandbox.snapshots.working_tree import WorkingTree

NESTED = "a nested repository: undo it there"
"""Why a path is left alone that is, or lies in, a repository of its own."""


class Clash(Exception):
    """The change cannot be reverted without affecting a later change by others."""


def compute_reverted_state(
    workspace: WorkingTree,
    store: Store,
    path: str,
    changes: Sequence[Change],
    now: State | None,
    *,
    merge: bool,
) -> State | None:
    """Return the state of `path` with `changes` (the newest first) reverted.

    now: the present state; it includes the newest change, perhaps modified by others since
    merge: lines that changed since are merged (as `git merge-file` does), else they are a clash
    Raises Clash. Content that no snapshot has is stored.
    """
    wanted = now
    for change in changes:
        wanted = _revert_state(workspace, store, path, change, wanted, merge=merge)
    return wanted


def _revert_state(
    workspace: WorkingTree, store: Store, path: str, change: Change, now: State | None, *, merge: bool
) -> State | None:
    before, after = change.before, change.after
    if GIT_NESTED in (state.mode for state in (before, after, now) if state):
        raise Clash(NESTED)
    # Where `now` is `before` already, it was reverted by hand, or by an undo that was killed half-way.
    merge_files = partial(_merge_files, workspace, store, path, after, now, before, merge=merge)
    wanted = merge_values(after, now, before, merge_files)
    return now if wanted == now else _require_kept(wanted)


def _merge_files(
    workspace: WorkingTree,
    store: Store,
    path: str,
    base: State | None,
    ours: State | None,
    theirs: State | None,
    *,
    merge: bool,
) -> State:
    """Merge modes and lines of plain files; both sides changed the mode: keep ours. Raises Clash."""
    if not (merge and base and ours and theirs and all(map(_is_plain_file, (base, ours, theirs)))):
        raise Clash("changed since")

    def merge_blobs() -> str:
        mine = store.read(ours.id) if store.has(ours.id) else workspace.read(path, ours)
        return store.write("blob", merge_lines(store.read(base.id), mine, store.read(theirs.id)))

    try:
        content = merge_values(base.id, ours.id, theirs.id, merge_blobs)
    except MergeConflict:
        raise Clash("changed since, in the same lines") from None
    if content == ours.id and not store.has(content):  # the present content is not stored yet
        content = store.write("blob", workspace.read(path, ours))
    return State(mode=merge_values(base.mode, ours.mode, theirs.mode, lambda: ours.mode), id=content)


def _require_kept(state: State | None) -> State | None:
    if state is not None and not state.can_be_made:
        kind = "a socket" if stat.S_ISSOCK(state.mode) else "a device"
        large = stat.S_ISREG(state.mode)
        raise Clash("its earlier content was too large to keep" if large else f"it was {kind}")
    return state


def _is_plain_file(state: State) -> bool:
    return stat.S_ISREG(state.mode) and state.is_kept
