"""Undo: revert changes between snapshots, as far as no later change conflicts."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.errors import translate_write_errors
from sandbox.snapshots.folder_modes import restore_folder_modes
from sandbox.snapshots.newly_visible import compute_changes
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.path_state import Change, State
from sandbox.snapshots.reverted_state import Clash, compute_reverted_state
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.working_tree import WorkingTree


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """Result of an undo.

    changes: the reverted changes (each one's `before` is the present state)
    clashes: paths that were left alone, and why; unless they were to be skipped, nothing was reverted
    """

    changes: tuple[Change, ...]
    clashes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The changes between two snapshots."""

    before: View
    after: View
    changes: Sequence[Change]

    @staticmethod
    def from_views(before: View, after: View) -> Span:
        return Span(before=before, after=after, changes=compute_changes(before, after))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A path and the state that it gets; `folder`: an otherwise empty folder is in the file's place."""

    path: str
    wanted: State | None
    present: State | None
    folder: bool


def revert_spans(
    root: Path, store: Store, spans: Sequence[Span], *, skip_clashes: bool, merge: bool
) -> RestoreResult:
    """See `Snapshots.revert`. spans: the oldest first"""
    workspace = WorkingTree(root)
    with (
        translate_write_errors(str(root)),
        restore_folder_modes(workspace, [(span.before, span.after, span.changes) for span in spans]) as modes,
    ):
        steps, clashes = _plan_steps(workspace, store, spans, merge=merge)
        if clashes and not skip_clashes:
            modes.clear()
            return RestoreResult(changes=(), clashes=clashes)
        _apply_steps(workspace, store, steps)
        for span in reversed(spans):
            _tidy_folders(workspace, span)
    changes = (Change.from_states(step.path, step.wanted, step.present) for step in steps)
    return RestoreResult(changes=tuple(changes), clashes=clashes)


def _plan_steps(
    workspace: WorkingTree, store: Store, spans: Sequence[Span], *, merge: bool
) -> tuple[list[_Step], dict[str, str]]:
    histories: dict[str, list[Change]] = {}
    for span in reversed(spans):
        for change in span.changes:
            histories.setdefault(change.path, []).append(change)
    steps: dict[str, _Step] = {}
    clashes: dict[str, str] = {}
    for path, changes in sorted(histories.items()):
        now = workspace.read_state(path)
        folder = now is not None and now.mode == stat.S_IFDIR
        present = None if folder else now
        try:
            wanted = compute_reverted_state(workspace, store, path, changes, present, merge=merge)
        except Clash as clash:
            clashes[path] = str(clash)
            continue
        if wanted != present:
            steps[path] = _Step(path=path, wanted=wanted, present=present, folder=folder)
    # One clash may block another path: a folder cannot become a file while it contains a file of the user's.
    while blocked := {
        path: why for path, step in steps.items() if (why := _explain_block(workspace, step, steps, spans))
    }:
        clashes |= blocked
        steps = {path: step for path, step in steps.items() if path not in blocked}
    return list(steps.values()), clashes


def _explain_block(
    workspace: WorkingTree, step: _Step, steps: dict[str, _Step], spans: Sequence[Span]
) -> str:
    if step.wanted is None:
        return ""
    vacated = {path for path, each in steps.items() if each.wanted is None}
    if step.folder:
        others = sorted(set(workspace.iterate_files_below(step.path)) - vacated)
        if others:
            return f"a folder with {others[0]!r} stands in its place"
        if not all(_was_created_in_spans(path, spans) for path in workspace.iterate_folders_from(step.path)):
            return "a folder that somebody else has made stands in its place"
    for parent in _list_parents(step.path):
        state = workspace.read_state(parent)
        if state is not None and state.mode != stat.S_IFDIR and parent not in vacated:
            return f"{parent!r} is no longer a folder"
    return ""


def _was_created_in_spans(path: str, spans: Sequence[Span]) -> bool:
    """Return whether the folder at `path` was created in one of the spans."""
    return any(span.after.has_folder(path) and not span.before.has_folder(path) for span in spans)


def _apply_steps(workspace: WorkingTree, store: Store, steps: Sequence[_Step]) -> None:
    """Apply the steps, removals first: they make room where a file became a folder or the reverse."""
    for step in steps:
        if step.wanted is None:
            workspace.remove(step.path)
    for step in steps:
        if step.wanted is None:
            continue
        if step.folder:
            workspace.remove_empty_folders(step.path)
        workspace.write(step.path, step.wanted, store.read(step.wanted.id))


def _tidy_folders(workspace: WorkingTree, span: Span) -> None:
    """Restore folders that are gone, remove those that are new and empty."""
    before, after = span.before, span.after
    hollow = after.extra.empty - before.extra.empty
    added = {each.path for each in span.changes if each.before is None}  # also if removed since
    made = hollow | {parent for path in added | hollow for parent in _list_parents(path)}
    for path in sorted(made, reverse=True):  # children first
        if not before.has_folder(path):
            workspace.remove_if_empty(path)
    for path in sorted(before.extra.empty - after.extra.empty):
        if not after.has_folder(path) and workspace.read_state(path) is None:
            workspace.make_folder(path)


def _list_parents(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]
