"""Snapshots around the actions that may write: what changed between the two is the session's work."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, Protocol

from sandbox.process.watchdog import start_death_record, stop_death_record
from tools.changes.change_tracker import Snapshotter
from tools.core.workspace import Workspace

_RULES = ".gitignore"
"""A changed file of this name shows or hides files that were not touched."""


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

    async def begin(self, span: Span, snapshots: Snapshotter) -> None:
        """Record the snapshot before an action."""
        span.before = await asyncio.to_thread(snapshots.take)
        self._record_tree(span.before, "before")
        self._writing = True
        self._workspace.changes.action_writes = None
        start_death_record(self._workspace.at_work_marker)

    async def end(self, span: Span, snapshots: Snapshotter) -> None:
        """Record the snapshot after an action."""
        tree = span.after or await asyncio.to_thread(self._take_after, snapshots, span.before)
        self._record_tree(tree, "after")
        self._clear_writing()

    async def end_interrupted(self, snapshots: Snapshotter) -> None:
        """Record the snapshot after an action that was interrupted, if it may have written."""
        if self._writing:
            tree = await asyncio.to_thread(snapshots.take)
            self._record_tree(tree, "after")
            self._clear_writing()

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
