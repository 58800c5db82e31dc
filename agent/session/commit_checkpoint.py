"""Commit checkpoints of a log: all changes were committed, so no earlier event has to be read.

A resumed session reconstructs its changes from its actions (agent.turn.resume). With edits in ten thousand
steps, that takes half a second; from the last such checkpoint on it is a few events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.context.restore.projection_checkpoint import Checkpoints, CleanPoint
from agent.events import ActionEvent, Event, ObservationEvent, Rewind, SnapshotEvent, UndoEvent
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id

if TYPE_CHECKING:
    from tools.changes.session_changes import SessionChanges


class CommitCheckpointTracker:
    """Tracker of a session's log that adds the last commit checkpoint to the session's checkpoints.

    tree: the last snapshot of the log so far, "" before the first
    """

    def __init__(self, changes: SessionChanges, checkpoints: Checkpoints, tree: str) -> None:
        self._changes = changes
        self._checkpoints = checkpoints
        self._tree = tree
        self._begun: set[str] = set()

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case SnapshotEvent():
                self._tree = event.tree
            case UndoEvent():
                self._tree = event.after
            case Rewind():  # it may have gone back to before that
                self._checkpoints.clean = None
                self._begun.clear()
            case ActionEvent():
                self._begun.add(event.call)
            case ObservationEvent():
                self._begun.discard(event.call)
                if event.data.get("commit") and not (self._begun or self._changes.has_record):
                    self._checkpoints.clean = CleanPoint(at=parse_event_id(event.id), tree=self._tree)


def find_own_tree(history: History) -> str:
    """Return the last snapshot of the session's own work, "" before the first."""
    last = next(history.select_marked_newest_first("snapshot", "undo"), None)
    if isinstance(last, UndoEvent):
        return last.after
    return last.tree if isinstance(last, SnapshotEvent) else ""
