"""Compute the state of a path with some changes reverted and all others kept: a three-way merge of states
and lines."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.process.git_runner import NO_USER_SETTINGS, GitRunner, GitTimeout
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.path_state import GIT_NESTED, Change, State
from sandbox.snapshots.working_tree import WorkingTree

TIMEOUT = 30.0
"""Seconds for the merge of one file: files that are kept have 10 MB at most."""


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
        raise Clash("a nested repository: undo it there")
    if now == before:  # already reverted: by hand, or by an undo that was killed half-way
        return now
    if now == after:
        return _require_kept(before)
    if not (merge and before and after and now and all(map(_is_plain_file, (before, after, now)))):
        raise Clash("changed since")
    mode = before.mode if now.mode == after.mode else now.mode
    if before.id == after.id:
        content = now.id
    elif now.id == after.id:
        content = before.id
    else:
        mine = workspace.read(path, now) if not store.has(now.id) else store.read(now.id)
        merged = merge_lines(store.read(after.id), mine, store.read(before.id))
        if merged is None:
            raise Clash("changed since, in the same lines")
        content = store.write("blob", merged)
    if content == now.id and not store.has(content):  # the present content is not stored yet
        content = store.write("blob", workspace.read(path, now))
    return State(mode=mode, id=content)


def _require_kept(state: State | None) -> State | None:
    if state is not None and not state.is_kept:
        raise Clash("its earlier content was too large to keep")
    return state


def _is_plain_file(state: State) -> bool:
    return stat.S_ISREG(state.mode) and state.is_kept


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the three-way merge of texts, None if both sides changed the same lines, one is binary, or it
    takes long."""
    if any(b"\0" in content for content in (base, ours, theirs)):
        return None
    with tempfile.TemporaryDirectory(prefix="patchwright-merge-") as folder:
        names = [str(Path(folder, name)) for name in ("ours", "base", "theirs")]
        for name, content in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(content)
        environment = {"LC_ALL": "C", **NO_USER_SETTINGS, "GIT_CEILING_DIRECTORIES": folder}
        try:
            done = GitRunner(Path(folder), environment, workspace=None).run(
                "merge-file", "-p", "-q", "--", *names, timeout=TIMEOUT
            )
        except GitTimeout:
            return None
    return done.stdout if done.returncode == 0 else None
