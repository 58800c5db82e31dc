"""Changes by others, between two steps, to files that the session had changed: excluded from commits."""

from __future__ import annotations

import stat
from collections.abc import Callable
from typing import Literal

from sandbox.snapshots.workspace_snapshots import LostObjectError
from tools.changes.change_tracker import Snapshotter
from tools.changes.session_changes import ForeignEdit, SessionChanges


class ConcurrentChanges:
    """Follows the snapshots of a session's log, and records changes between steps in `SessionChanges.foreign_edits`.

    snapshots: returns the session's current snapshots; without any nothing is recorded
    tree: the last snapshot of the log so far
    """

    def __init__(
        self, changes: SessionChanges, snapshots: Callable[[], Snapshotter | None], tree: str = ""
    ) -> None:
        self._changes = changes
        self._snapshots = snapshots
        self._tree = tree

    def record_snapshot(self, tree: str, when: Literal["before", "after"]) -> None:
        """Handle the next snapshot around a step."""
        if when == "before":
            self._note_changes(tree)
        self._tree = tree

    def record_undo(self, before: str, after: str) -> None:
        """Handle an undo between its two snapshots: it is the session's work, like a step."""
        self._note_changes(before)
        self._tree = after

    def _note_changes(self, tree: str) -> None:
        known, snapshots = self._changes, self._snapshots()
        if snapshots is None or self._tree in ("", tree) or not (known.originals or known.undone):
            return
        try:
            changes = snapshots.list_changes(self._tree, tree)
            unseen = snapshots.list_newly_visible(self._tree, tree)
        except LostObjectError:  # the author of the changes to these files is unknown
            known.lost.update(known.originals, known.undone)
            return
        # Ignored when the session changed them, and no longer: changes by others in between were not recorded.
        known.lost.update(filter(known.has_ever_changed, unseen))
        for change in changes:
            path = change.path
            if not known.has_ever_changed(path):
                continue
            states = (change.before, change.after)
            if any(state and stat.S_ISREG(state.mode) and not state.is_kept for state in states):
                known.lost.add(path)
                continue
            edit = ForeignEdit(before=change.before, after=change.after, read=snapshots.read_content)
            known.foreign_edits.setdefault(path, []).append(edit)
