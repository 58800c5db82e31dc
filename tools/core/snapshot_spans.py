"""Snapshots around the actions that may write: what changed between the two is the session's work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sandbox.lazy_dataclass import dataclass
from sandbox.process.watchdog import start_death_record, stop_death_record
from tools.changes.change_tracker import Snapshotter
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement

_RULES = ".gitignore"
"""A changed file of this name shows or hides files that were not touched."""


_PATIENCE = 0.1
"""Seconds that the end of an interrupted turn may take longer."""


@dataclass(slots=True)
class Span:
    """Snapshots before and after an action that may write; "" until taken."""

    before: str = ""
    after: str = ""


class SnapshotLog(Protocol):
    """The log, as far as it records snapshots."""

    def record_snapshot(self, tree: str, when: Literal["before", "after"]) -> None: ...


class SnapshotSpans:
    """Takes and records the snapshots around one session's actions, in the store that its mode has at that time."""

    def __init__(self, workspace: Workspace, log: SnapshotLog) -> None:
        self._workspace = workspace
        self._log = log
        self._tree = ""
        self._writing = False  # something may have been written since the last snapshot
        # the snapshot of an interrupted action, still being taken
        self._pending: asyncio.Task[str] | None = None

    async def begin(self, span: Span, snapshots: Snapshotter) -> None:
        """Record the snapshot before an action."""
        await self._record_pending(None)
        span.before = await asyncio.to_thread(snapshots.take)
        self._record_tree(span.before, "before")
        self._writing = True
        self._workspace.changes.action_writes = None
        start_death_record(self._workspace.at_work_marker)

    async def cover_writes(self, paths: Iterable[str], snapshots: Snapshotter) -> None:
        """Have the next snapshots keep the files that an action is about to write, ignored or not.

        Within a running action, whose first snapshot may lack such a file, a new part begins here.
        """
        files = self._workspace.files
        named = {name for path in paths for name in (path, files.find_relative(path)) if _is_inside(name)}
        unseen = snapshots.find_unseen(named)
        if unseen and self._writing:
            self._record_tree(await asyncio.to_thread(snapshots.take), "after")
        if unseen:
            await asyncio.to_thread(snapshots.cover_paths, unseen)
        if unseen and self._writing:
            self._record_tree(await asyncio.to_thread(snapshots.take), "before")

    async def end(self, span: Span, snapshots: Snapshotter) -> None:
        """Record the snapshot after an action."""
        tree = span.after or await asyncio.to_thread(self._take_after, snapshots, span.before)
        self._record_tree(tree, "after")
        self._clear_writing()

    async def end_interrupted(self, snapshots: Snapshotter) -> None:
        """Record the snapshot after an action that was interrupted, if it may have written.

        Nobody who pressed Ctrl-C waits for a large one: it is recorded before the next action. If the session ends
        first, an undo or a resume goes by the time at which this process ended, as after a kill.
        """
        if not self._writing:
            return
        if self._pending is None:
            self._pending = asyncio.create_task(asyncio.to_thread(snapshots.take))
        if await self._record_pending(_PATIENCE):
            self._clear_writing()

    async def _record_pending(self, patience: float | None) -> bool:
        """Record the snapshot that is still being taken; return False if that takes longer than `patience`.

        An interrupt cancels the wait, never the snapshot; a failure is raised once.
        """
        if self._pending is None:
            return True
        if not (await asyncio.wait([self._pending], timeout=patience))[0]:
            return False
        task, self._pending = self._pending, None
        self._record_tree(task.result(), "after")
        return True

    def _clear_writing(self) -> None:
        """Mark all writes as recorded in the log."""
        self._writing = False
        stop_death_record(self._workspace.at_work_marker)

    def _take_after(self, snapshots: Snapshotter, before: str) -> str:
        tree, written = snapshots.take(), self._workspace.changes.action_writes
        if tree == before or written is None or any(path.endswith(_RULES) for path in written):
            return tree
        return snapshots.narrow_snapshot(before, tree, written)

    def _record_tree(self, tree: str, when: Literal["before", "after"]) -> None:
        if tree != self._tree:
            self._tree = tree
            self._log.record_snapshot(tree, when)


_SPOILING = frozenset(
    ("rm", "unlink", "shred", "mv", "cp", "ln", "install", "sed", "perl", "truncate", "dd", "tee")
)
"""Commands that remove or replace the files that they name. Others write outputs, which nobody misses."""

_MOST_SPOILED = 500
"""Files of a folder that is named so: in a larger one are things that can be made again."""


def list_spoiled_files(command: Judgement | None, root: Path) -> list[str]:
    """Return the files below the workspace that a command line names to remove or to change, for a copy of each."""
    found: list[str] = []
    for segment in command.segments if command is not None else ():
        if segment.argv and segment.argv[0].rpartition("/")[2] in _SPOILING:
            named = [path for effect in segment.effects if effect.kind == "write" for path in effect.paths]
            for path in filter(_is_inside, named):
                found += _list_files(root, path)
    return found


def _list_files(root: Path, path: str) -> list[str]:
    """Return a file, or those of a folder if there are few; no link is followed."""
    place = root / path
    if place.is_file() or place.is_symlink():
        return [path]
    found: list[str] = []
    for folder, _, names in os.walk(place):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]  # noqa: PTH118
        if len(found) > _MOST_SPOILED:
            return []
    return found


def _is_inside(path: str) -> bool:
    """Whether this is a plain path of an entry below the workspace."""
    return bool(path) and not path.startswith("/") and not {"", ".", "..", ".git"} & set(path.split("/"))
