"""Notices to the model, before its next request, of files changed by others since it read them.

The user may edit while the agent works, or undo its changes. Each change is reported once, by file name; the
tools refuse in any case to overwrite content that the model has not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from agent.context.ledger.session_facts import Facts
from agent.events import Event, MessageEvent, ObservationEvent, Prompt, SnapshotEvent, Steer, UndoEvent
from agent.monitor.answers import TellModel
from agent.monitor.monitor import Monitor
from agent.session.branch_history import History
from agent.session.commit_checkpoint import find_own_tree
from agent.session.undo import format_undo_event
from sandbox.errors import UserError
from sandbox.sanitize import quote_name
from tools.changes.change_tracker import Snapshotter
from tools.core.text import join_names
from tools.core.workspace import Workspace

NAMED = 20
"""Files that are named: with more (another branch was checked out) the number suffices."""

MOST = 2_000
"""Files read by the model that are checked before each request: 4 µs each."""

Looks = tuple[int, int, int]
"""st_mtime_ns, st_size and st_ino; () for a missing file."""


class ExternalChanges(Monitor):
    """Follower of the log that compares the files with the log's record of them."""

    def __init__(self, workspace: Workspace, snapshots: Snapshotter | None) -> None:
        self._workspace = workspace
        self._snapshots = snapshots
        self._pending: list[str] = []
        self._tree = ""  # last snapshot of the session's own work
        self._fresh = False  # a turn has begun, and its first request is pending
        self._own: set[str] = set()  # changed by a command of the model since the last check
        self._looks: dict[str, Looks | tuple[()]] = {}
        self._told: dict[str, str] = {}  # path → fingerprint of the content last reported to the model

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case Prompt():
                self._fresh = True
            case MessageEvent():
                self._fresh = False  # in case that this was built after the turn's first request
            case SnapshotEvent():
                self._tree = event.tree
            case UndoEvent():
                self._tree = event.after
                self._own.update(event.paths)
                if event.told:
                    self._pending.append(format_undo_event(event))
            case Steer() if event.text in self._pending:
                self._pending.remove(event.text)
            case ObservationEvent():
                self._own.update(str(path) for path in event.data.get("changed", ()))

    def restore(self, history: History, facts: Facts) -> None:
        """Process an existing log: its undo events, later notices, and its last snapshot."""
        if (first := next(history.select_events(UndoEvent), None)) is not None:
            self.handle_event(first)
            for event in history.select_events(UndoEvent, Steer, after=first.id):
                self.handle_event(event)
        self._tree = find_own_tree(history)

    async def before_request(self) -> Sequence[TellModel]:
        """Return the notices due now; mostly none."""
        pending = list(self._pending)
        changed = await asyncio.to_thread(self._find_changed_files) if self._workspace.read_versions else []
        if self._fresh:
            self._fresh = False
            changed += [
                each for each in await asyncio.to_thread(self._find_workspace_changes) if each not in changed
            ]
        if changed:
            pending.append(
                f"[Changed by me or another program, not by you: {join_names(list(map(quote_name, changed)), NAMED)}. "
                "Read again what you rely on, and keep those changes.]"
            )
        return [TellModel(text=text) for text in pending]

    def _find_changed_files(self) -> list[str]:
        """Return files that the model has read, and that another program or the user has changed since."""
        from sandbox.fs.text_file import compute_fingerprint

        found = []
        files = self._workspace.files
        for path, seen in list(self._workspace.read_versions.items())[-MOST:]:
            looks = self._stat_file(path)
            if self._looks.get(path) == looks:
                continue
            self._looks[path] = looks
            now = ""
            with suppress(OSError, ValueError):  # removed, or no longer a readable file
                now = compute_fingerprint(files.read(path)) if looks else ""
            own = path in self._own
            self._own.discard(path)
            if seen.fingerprint and now not in (seen.fingerprint, self._told.get(path)) and not own:
                found.append(path if now else f"{path} (gone)")
            self._told[path] = now
        return sorted(found)

    def _stat_file(self, path: str) -> Looks | tuple[()]:
        try:
            info = (self._workspace.root / path).stat()
        except OSError:
            return ()
        return info.st_mtime_ns, info.st_size, info.st_ino

    def _find_workspace_changes(self) -> list[str]:
        """Return the changes in the whole workspace since the session's last step that wrote."""
        if not self._tree or self._snapshots is None:
            return []
        try:
            now = self._snapshots.take()
            changes = self._snapshots.list_changes(self._tree, now) if now != self._tree else []
        except (UserError, OSError):  # a full disk, for example: the next writer will report it
            return []
        self._tree = now
        suffix = {"added": " (new)", "deleted": " (gone)"}
        return [change.path + suffix.get(change.kind, "") for change in changes]
