"""Undo: revert changes between snapshots, as far as no later change conflicts."""

from __future__ import annotations

import errno
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from sandbox.errors import translate_write_errors
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.folder_modes import restore_folder_modes
from sandbox.snapshots.newly_visible import compute_covered_changes
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.path_state import GIT_NESTED, Change, State
from sandbox.snapshots.reverted_state import NESTED, Clash, compute_reverted_state
from sandbox.snapshots.snapshot_view import View
from sandbox.snapshots.working_tree import MAX_FILE_SIZE, MAX_WRITTEN_SIZE, WorkingTree


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResult:
    """Result of an undo.

    changes: the reverted changes (each one's `before` is the present state)
    clashes: paths that were left alone, and why; all others were reverted
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
        return Span(before=before, after=after, changes=compute_covered_changes(before, after))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A path and the state that it gets; `folder`: an otherwise empty folder is in the file's place."""

    path: str
    wanted: State | None
    present: State | None
    folder: bool


def revert_spans(root: Path, store: Store, spans: Sequence[Span], *, merge: bool) -> RestoreResult:
    """See `Snapshots.revert`. spans: the oldest first"""
    workspace = WorkingTree(root)
    with (
        translate_write_errors(str(root)),
        restore_folder_modes(workspace, [(span.before, span.after, span.changes) for span in spans]),
    ):
        planned, clashes = _plan_steps(workspace, store, spans, merge=merge)
        steps, failed = _apply_steps(workspace, store, planned)
        clashes |= failed
        for span in reversed(spans):
            _tidy_folders(workspace, span, tuple(f"{path}/" for path in clashes))
    steps.sort(key=lambda step: step.path)
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
        try:
            now = workspace.read_state(path, _get_largest(changes[0]))
        except OSError as error:  # closed by somebody since, or another user's
            clashes[path] = (error.strerror or "cannot be read").lower()
            continue
        folder = now is not None and now.mode == stat.S_IFDIR
        present = None if folder else now
        try:
            wanted = compute_reverted_state(workspace, store, path, changes, present, merge=merge)
        except Clash as clash:
            clashes[path] = NESTED if _lies_in_repository(workspace, path) else str(clash)
            continue
        except OSError as error:  # exchanged or closed while it was read
            clashes[path] = (error.strerror or "cannot be read").lower()
            continue
        if wanted != present:
            steps[path] = _Step(path=path, wanted=wanted, present=present, folder=folder)
    _keep_used_repositories(workspace, steps, clashes)
    # One clash may block another path: a folder cannot become a file while it contains a file of the user's.
    while blocked := {
        path: why for path, step in steps.items() if (why := _explain_block(workspace, step, steps, spans))
    }:
        clashes |= blocked
        steps = {path: step for path, step in steps.items() if path not in blocked}
    return list(steps.values()), clashes


def _get_largest(newest: Change) -> int:
    """Return the size up to which a file is compared by content: of one that our tools write, as they left it."""
    is_kept = newest.after is not None and newest.after.is_kept
    return MAX_WRITTEN_SIZE if is_kept else MAX_FILE_SIZE


def _lies_in_repository(workspace: WorkingTree, path: str) -> bool:
    """Whether a parent is a repository of its own: snapshots do not cover it, so nothing is known of the path since."""
    states = map(workspace.read_state, _list_parents(path))
    return any(state is not None and state.mode == GIT_NESTED for state in states)


def _keep_used_repositories(workspace: WorkingTree, steps: dict[str, _Step], clashes: dict[str, str]) -> None:
    """Leave a repository that the spans made (`git init`) as a whole if anything in its git folder changed since."""
    removed: dict[str, set[str]] = {}
    for path, step in steps.items():
        if step.wanted is None and (git := _find_git_folder(path)):
            removed.setdefault(git, set()).add(path)
    for git, paths in removed.items():
        below = f"{git}/"
        if set(workspace.iterate_files_below(git)) == paths:
            continue
        for path in [path for path in steps if path.startswith(below)]:
            del steps[path]
        for path in [path for path in clashes if path.startswith(below)]:
            del clashes[path]
        clashes[git] = "a repository that was made there has been used since"


def _find_git_folder(path: str) -> str:
    parts = path.split("/")[:-1]
    return "/".join(parts[: parts.index(".git") + 1]) if ".git" in parts else ""


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
        is_folder = state is None or state.mode in (stat.S_IFDIR, GIT_NESTED)
        if not is_folder and parent not in vacated:
            return f"{parent!r} is no longer a folder"
    return ""


def _was_created_in_spans(path: str, spans: Sequence[Span]) -> bool:
    """Return whether the folder at `path` was created in one of the spans."""
    return any(span.after.has_folder(path) and not span.before.has_folder(path) for span in spans)


def _apply_steps(
    workspace: WorkingTree, store: Store, steps: Sequence[_Step]
) -> tuple[list[_Step], dict[str, str]]:
    """Apply the steps, removals first: they make room where a file became a folder or the reverse.

    Returns the steps that were applied, and the paths where the system forbade it, with the reason.
    """
    applied, failed = [], {}
    for step in sorted(steps, key=lambda step: step.wanted is not None):
        try:
            _apply_step(workspace, store, step)
        except OSError as error:
            if error.errno not in _LOCAL_ERRORS:
                raise
            failed[step.path] = (error.strerror or "cannot be written").lower()
        else:
            applied.append(step)
    return applied, failed


def _apply_step(workspace: WorkingTree, store: Store, step: _Step) -> None:
    if step.wanted is None:
        workspace.remove(step.path)
        return
    if step.folder:
        workspace.remove_empty_folders(step.path)
    workspace.write(step.path, step.wanted, store.read(step.wanted.id) if step.wanted.is_kept else b"")


_LOCAL_ERRORS = frozenset(
    (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.ELOOP, errno.EBUSY)
)
"""Errors of one place; others, as a full disk, end the undo, which can be repeated."""


def _tidy_folders(workspace: WorkingTree, span: Span, kept: tuple[str, ...]) -> None:
    """Restore folders that are gone, remove those that are new and empty, except below `kept`."""
    before, after = span.before, span.after
    hollow = after.extra.empty - before.extra.empty
    added = {each.path for each in span.changes if each.before is None}  # also if removed since
    made = hollow | {parent for path in added | hollow for parent in _list_parents(path)}
    for path in sorted(made, reverse=True):  # children first
        if not before.has_folder(path) and not path.startswith(kept):
            workspace.remove_if_empty(path)
    for path in sorted(before.extra.empty - after.extra.empty):
        if not after.has_folder(path) and workspace.read_state(path) is None:
            workspace.make_folder(path)


def _list_parents(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]
