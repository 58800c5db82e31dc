"""Separate the session's changes of a file from foreign edits made between its steps.

A foreign edit outside the session's lines is added to the base version, as if it had been there before. An edit of
the session's own lines is removed from the current version instead, so that the commit holds the session's version of
them, and the edit stays in the file, uncommitted.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sandbox.fs.three_way_merge import MergeConflict, merge_lines, merge_values
from sandbox.lazy_dataclass import dataclass
from tools.changes.session_changes import ForeignEdit
from tools.git.broker import Broker
from tools.git.commits.git_objects import Entry, compute_blob_id, read_blobs, store_filtered_blob

if TYPE_CHECKING:
    from sandbox.snapshots.workspace_snapshots import State

CLASH = "the user has since changed lines that you changed as well"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """One version of a file: a link's content is its target.

    mode: as git writes it; "" if unknown
    """

    mode: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChange:
    """Two versions that differ by the session's changes only.

    conflict: why there are no such versions; has_foreign_edits: see `ChangedFile`
    """

    base: FileVersion | None
    now: FileVersion | None
    conflict: str = ""
    has_foreign_edits: bool = False


def separate_session_change(
    broker: Broker,
    path: str,
    head: Entry | None,
    base: FileVersion | None,
    now: FileVersion | None,
    edits: Sequence[ForeignEdit],
) -> SessionChange:
    """Return the session's own change of a file.

    base: before the session's first change; now: at present; edits: foreign ones between its steps, oldest first
    """
    committed = _CommittedVersion(broker, path, head)
    waiting: list[tuple[FileVersion | None, FileVersion | None]] = []
    for edit in edits:
        before, after = _read_version(edit, edit.before), _read_version(edit, edit.after)
        if committed.equals(before):  # the last commit has all of the session's changes until then
            base, waiting = before, []
        if (
            after is None or after == base or committed.equals(after)
        ):  # none of the session's changes is left in it
            base, waiting = after, []
            continue
        try:
            base = _apply_edit(before, after, base)
        except MergeConflict:
            waiting.append((before, after))
    if now == base:
        return SessionChange(base=base, now=now)
    waiting = [edit for edit in waiting if not committed.contains_edit(*edit)]
    own = now
    try:
        for before, after in reversed(waiting):
            own = _apply_edit(after, before, own)
    except MergeConflict:
        return SessionChange(base=base, now=now, conflict=CLASH)
    return SessionChange(base=base, now=own, has_foreign_edits=bool(waiting))


class _CommittedVersion:
    """The version in the last commit, compared as git stores contents."""

    def __init__(self, broker: Broker, path: str, head: Entry | None) -> None:
        self._broker, self._path, self._head = broker, path, head

    def equals(self, version: FileVersion | None) -> bool:
        head = self._head
        if head is None or version is None or (head[0] == "120000") != (version.mode == "120000"):
            return False
        if compute_blob_id(version.content, head[1]) == head[1]:
            return True
        return (
            head[0] != "120000" and store_filtered_blob(self._broker, self._path, version.content) == head[1]
        )

    def contains_edit(self, before: FileVersion | None, after: FileVersion | None) -> bool:
        """Return whether the edit is committed: applying it again would change nothing."""
        if self._head is None or before is None or after is None or not _are_regular_files(before, after):
            return False
        names = [store_filtered_blob(self._broker, self._path, each.content) for each in (before, after)]
        texts = read_blobs(self._broker, (*names, self._head[1]))
        there = texts[self._head[1]]
        try:
            return names[0] != names[1] and merge_lines(texts[names[0]], texts[names[1]], there) == there
        except MergeConflict:
            return False


def _apply_edit(
    before: FileVersion | None, after: FileVersion | None, there: FileVersion | None
) -> FileVersion | None:
    """Apply the change from `before` to `after` to `there`. Raises MergeConflict."""
    return merge_values(before, after, there, partial(_merge_files, before, after, there))


def _merge_files(
    base: FileVersion | None, ours: FileVersion | None, theirs: FileVersion | None
) -> FileVersion:
    """Merge modes and lines of regular files; both sides changed the mode: keep ours. Raises MergeConflict."""
    if base is None or ours is None or theirs is None or not _are_regular_files(base, ours, theirs):
        raise MergeConflict("no regular files")
    merge_contents = partial(merge_lines, base.content, ours.content, theirs.content)
    return FileVersion(
        mode=merge_values(base.mode, ours.mode, theirs.mode, lambda: ours.mode),
        content=merge_values(base.content, ours.content, theirs.content, merge_contents),
    )


def _are_regular_files(*versions: FileVersion) -> bool:
    return all(version.mode != "120000" for version in versions)


def _read_version(edit: ForeignEdit, state: State | None) -> FileVersion | None:
    content = edit.read(state) if state is not None else None
    return (
        None
        if state is None or content is None
        else FileVersion(mode=to_git_mode(state.mode), content=content)
    )


def to_git_mode(mode: int) -> str:
    """Convert st_mode to git's notation."""
    if stat.S_ISLNK(mode):
        return "120000"
    return "100755" if mode & stat.S_IXUSR else "100644"
