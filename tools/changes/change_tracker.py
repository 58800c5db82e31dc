"""Changes of a command, found by snapshots before and after: for commits, undo and resuming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from tools.changes.session_changes import SessionChanges
from tools.core.content_guard import ContentGuard, FileContents

if TYPE_CHECKING:
    from sandbox.snapshots.restore import RestoreResult
    from sandbox.snapshots.workspace_snapshots import Change, State


class Snapshotter(Protocol):
    """Takes and compares snapshots of the workspace; called in threads."""

    def take(self) -> str: ...
    def find_unseen(self, paths: Iterable[str]) -> Collection[str]: ...
    def cover_paths(self, paths: Iterable[str]) -> None: ...
    def list_changes(self, old: str, new: str) -> Sequence[Change]: ...
    def list_newly_visible(self, old: str, new: str) -> Collection[str]: ...
    def narrow_snapshot(self, before: str, after: str, written: Mapping[str, bytes | None]) -> str: ...
    def read_content(self, state: State) -> bytes | None: ...
    def revert_unchanged(self, spans: Sequence[tuple[str, str]]) -> RestoreResult: ...
    def close(self) -> None: ...


_PATIENCE = 0.1
"""Seconds that an interrupt waits for the changes of what it stopped."""


class CommandTracking:
    """The tracked commands of a session. Only `settle` waits as long as it takes until all their changes are known."""

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def follow(self, command: TrackedCommand) -> AsyncIterator[None]:
        """Record the changes that a command made in the context. Nobody who pressed Ctrl-C waits for many of them."""
        patience = None
        try:
            yield
        except asyncio.CancelledError:
            patience = _PATIENCE
            raise
        finally:
            ending = asyncio.create_task(command.end())
            self._ending.add(ending)
            ending.add_done_callback(_mark_seen)
            await asyncio.wait([ending], timeout=patience)
            if ending.done():
                self._ending.discard(ending)
                ending.result()

    async def settle(self) -> None:
        """Wait for the changes of interrupted commands. Raises what went wrong with them."""
        while self._ending:
            ending = next(iter(self._ending))
            await asyncio.wait([ending])
            self._ending.discard(ending)
            ending.result()


def _mark_seen(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()  # of a session that ends there is nobody left to be told


class TrackedCommand:
    """One command. paths: its changes without those it committed itself, known after `end`.

    guard: judges the changes; what it does not let pass is undone at once, with the reasons in `undone`
    revert: undoes the changes since `begin` (or since its own last commit), except where a file changed again
    """

    def __init__(
        self, snapshots: Snapshotter, changes: SessionChanges, guard: ContentGuard | None = None
    ) -> None:
        self._snapshots = snapshots
        self._changes = changes
        self._guard = guard
        self.undone: dict[str, str] = {}
        self._before = self._after = ""
        self.paths: dict[str, None] = {}

    async def begin(self, tree: str = "") -> None:
        """Start tracking. tree: the snapshot just taken, if any"""
        self._before = tree or await asyncio.to_thread(self._snapshots.take)

    @property
    def after_tree(self) -> str:
        """Snapshot at the end of the command, "" before that."""
        return self._after

    def revert(self) -> RestoreResult:
        return self._snapshots.revert_unchanged([(self._before, self._after)])

    async def end(self) -> None:
        """Record the changes since `begin`."""
        await asyncio.to_thread(self._note_changes)

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        """Pause while git's data is written: changes committed meanwhile no longer count."""
        await self.end()
        try:
            yield
        finally:
            self.paths = {path: None for path in self.paths if path in self._changes}
            await self.begin()

    def _note_changes(self) -> None:
        after = self._after = self._snapshots.take()
        if after == self._before:
            return
        if self._guard is not None and self._undo_refused(self._guard):
            after = self._after = self._snapshots.take()
        for change in self._snapshots.list_changes(self._before, after):
            content = self._snapshots.read_content(change.before) if change.before else None
            self._changes.remember_state(change.path, change.before, content)
            self.paths[change.path] = None

    def _undo_refused(self, guard: ContentGuard) -> bool:
        """Undo the changes that the guard refuses; return whether there were any."""
        contents = [
            FileContents(
                path=change.path,
                before=self._snapshots.read_content(change.before) if change.before else None,
                after=self._snapshots.read_content(change.after) if change.after else None,
            )
            for change in self._snapshots.list_changes(self._before, self._after)
        ]
        refused = guard.check_command(contents)
        if not refused:
            return False
        written = {each.path: each.after for each in contents if each.path in refused}
        narrowed = self._snapshots.narrow_snapshot(self._before, self._after, written)
        self._snapshots.revert_unchanged([(self._before, narrowed)])
        self.undone |= refused
        return True
