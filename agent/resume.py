"""What a session had changed, worked out again from its log: so that a resumed one commits and undoes all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.events import ActionEvent, Event, ObservationEvent, SnapshotEvent
from agent.session import INTERRUPTED
from sandbox.snapshots import Snapshots
from tools.workspace import Workspace


class _Paths(Protocol):
    def relative(self, path: str) -> str: ...


def restore_changes(events: Sequence[Event], workspace: Workspace, snapshots: Snapshots | None) -> None:
    """Fill `workspace.changed` with the paths that actions touched and no commit has taken in since."""
    if snapshots is None:
        return
    tree = ""
    begun: dict[str, ActionEvent] = {}
    for event in events:
        match event:
            case SnapshotEvent():
                tree = event.tree
            case ActionEvent():
                begun[event.call] = event
            case ObservationEvent():
                action = begun.pop(event.call, None)
                if action is not None and action.effect == "write":
                    for path in _inside(workspace.files, action.paths):
                        _remember(workspace, snapshots, tree, path)
                for path in event.data.get("changed", ()):
                    _remember(workspace, snapshots, tree, str(path))
                if event.data.get("commit"):
                    for path in event.data.get("files", ()):
                        workspace.changed.pop(str(path), None)
                if event.text == INTERRUPTED and action is not None and action.effect == "execute" and tree:
                    # a kill took the command's result with it: what differs from before it counts as its work
                    for change in snapshots.changed(tree, snapshots.take()):
                        _remember(workspace, snapshots, tree, change.path)


def _remember(workspace: Workspace, snapshots: Snapshots, tree: str, path: str) -> None:
    if tree and path not in workspace.changed:
        workspace.changed[path] = snapshots.content_at(tree, path)


def _inside(files: _Paths, paths: Sequence[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            found.append(files.relative(path))
        except ValueError:  # the tool refused it then, too
            continue
    return found
