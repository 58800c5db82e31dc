"""Undo: take back what happened between two snapshots, as far as nothing else happened to it since."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.snapshots.present import Workspace
from sandbox.snapshots.state import GIT_NESTED, Change, State
from sandbox.snapshots.store import Store, told
from sandbox.snapshots.unveiled import differing
from sandbox.snapshots.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came of an undo.

    changes: what was taken back (each one's `before` is what is there now)
    clashes: paths that were left alone, and why; unless they were to be skipped, nothing was taken back
    """

    changes: tuple[Change, ...]
    clashes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One change to take back; `folder`: an otherwise empty folder stands where the file belongs."""

    change: Change
    folder: bool


def restore(root: Path, store: Store, before: View, after: View, *, skip_clashes: bool) -> Restored:
    """See `Snapshots.restore`."""
    workspace = Workspace(root)
    with told(root):
        steps, clashes = _plan(workspace, differing(before, after))
        if clashes and not skip_clashes:
            return Restored(changes=(), clashes=clashes)
        _apply(workspace, store, steps)
        _tidy(workspace, steps, before, after)
    return Restored(changes=tuple(step.change for step in steps), clashes=clashes)


def _plan(workspace: Workspace, changes: Sequence[Change]) -> tuple[list[_Step], dict[str, str]]:
    steps: dict[str, _Step] = {}
    clashes: dict[str, str] = {}
    for change in changes:
        now = workspace.state(change.path)
        folder = now is not None and now.mode == stat.S_IFDIR
        present = None if folder else now
        if present == change.before and not (folder and change.before):
            continue  # already as it was: by hand, or by an undo that was killed half-way
        reason = _objection(change, present)
        if reason:
            clashes[change.path] = reason
        else:
            steps[change.path] = _Step(change=change, folder=folder)
    # One clash may block another path: a folder cannot become a file while something of the user's is in it.
    while blocked := {path: why for path, step in steps.items() if (why := _blocked(workspace, step, steps))}:
        clashes |= blocked
        steps = {path: step for path, step in steps.items() if path not in blocked}
    return list(steps.values()), clashes


def _objection(change: Change, present: State | None) -> str:
    if GIT_NESTED in (state.mode for state in (change.before, change.after) if state):
        return "a nested repository: undo it there"
    if present != change.after:
        return "changed since"
    if change.before and not change.before.kept:
        return "its earlier content was too large to keep"
    return ""


def _blocked(workspace: Workspace, step: _Step, steps: dict[str, _Step]) -> str:
    if step.change.before is None:
        return ""
    vacated = {path for path, each in steps.items() if each.change.before is None}
    if step.folder:
        others = sorted(set(workspace.files_below(step.change.path)) - vacated)
        if others:
            return f"a folder with {others[0]!r} stands in its place"
    for parent in _parents(step.change.path):
        state = workspace.state(parent)
        if state is not None and state.mode != stat.S_IFDIR and parent not in vacated:
            return f"{parent!r} is no longer a folder"
    return ""


def _apply(workspace: Workspace, store: Store, steps: Sequence[_Step]) -> None:
    """Removals first: they make room where a file became a folder or the reverse."""
    removals = [step.change.path for step in steps if step.change.before is None]
    for path in removals:
        workspace.remove(path)
    for step in steps:
        state = step.change.before
        if state is None:
            continue
        if step.folder:
            workspace.clear(step.change.path)
        workspace.write(step.change.path, state, store.read(state.id))


def _tidy(workspace: Workspace, steps: Sequence[_Step], before: View, after: View) -> None:
    """Bring back folders that are gone, remove those that are new and empty."""
    hollow = after.extra.empty - before.extra.empty
    removed = {step.change.path for step in steps if step.change.before is None}
    made = hollow | {parent for path in removed | hollow for parent in _parents(path)}
    for path in sorted(made, reverse=True):  # what lies deeper comes first
        if not before.has_folder(path):
            workspace.remove_empty(path)
    for path in sorted(before.extra.empty - after.extra.empty):
        if not after.has_folder(path) and workspace.state(path) is None:
            workspace.make_folder(path)


def _parents(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]
