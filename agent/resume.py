"""What a session had changed and how far its turn had come, worked out again from its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from agent.events import (
    ActionEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SnapshotEvent,
    Steer,
    UndoEvent,
)
from agent.history import History
from agent.loop import TurnEnd
from agent.session import INTERRUPTED
from sandbox.snapshots import LostObjectError, Snapshots
from tools.between import Between
from tools.registry import Toolbox
from tools.workspace import Workspace


class _Paths(Protocol):
    def relative(self, path: str) -> str: ...


def restore_changes(
    events: Iterable[Event], workspace: Workspace, snapshots: Snapshots | None
) -> SnapshotEvent | None:
    """Fill `workspace.changed` with the paths that actions touched and no commit has taken in since.

    What differs from before a command that a kill interrupted counts as its work. That is bounded by the next
    snapshot; the one returned, if any, belongs in the log, so that no later resume counts what the user did since.
    Where a snapshot can no longer be read, the files are in `workspace.lost`: they count as changed.
    """
    if snapshots is None:
        return None

    def claim(before: str, after: str) -> None:
        with suppress(LostObjectError):  # then nothing tells what the command did
            for change in snapshots.changed(before, after):
                _remember(workspace, snapshots, before, change.path)

    between = Between(workspace, lambda: snapshots)
    tree = ""
    cut_off = ""  # the snapshot before a command whose result a kill took with it, until the next snapshot
    unsettled = False  # a kill took the snapshot after a batch with it
    begun: dict[str, ActionEvent] = {}
    for event in events:
        match event:
            case SnapshotEvent():
                between.snapshot(event.tree, event.when)
                tree, unsettled = event.tree, False
                if cut_off:
                    claim(cut_off, tree)
                    cut_off = ""
            case UndoEvent():
                # One that took the conversation back has taken the snapshots of what it undid out of sight.
                between.undone(event.before if event.told else event.after, event.after)
                tree = event.after
                settle(event, workspace, partial(_as_found, workspace, snapshots, tree))
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
                if event.text == INTERRUPTED and action is not None and action.followed:
                    cut_off = tree
                if event.text == INTERRUPTED and action is not None and action.effect not in ("none", "read"):
                    unsettled = True
    if snapshots.damaged:
        snapshots.mend()
    if not unsettled:
        return None
    now = snapshots.take()
    if cut_off:
        claim(cut_off, now)
    return SnapshotEvent(tree=now, when="after")


def settle(event: UndoEvent, workspace: Workspace, as_found: Callable[[str], bool]) -> None:
    """Let `workspace.changed` follow an undo: what a person makes of those files later is no work of the session's.

    as_found: whether a file is now as it was before the session first changed it
    """
    for path in event.paths:
        if event.action == "redo":
            workspace.unsettle(path)
        elif path in workspace.changed and path not in workspace.lost and as_found(path):
            workspace.settle(path)


def cut_off_turn(history: History) -> list[Event]:
    """The events of the last turn, its prompt first."""
    prompt = next(history.marked_newest_first("prompt"), None)
    return list(history if prompt is None else history.since(prompt.id))


def ended_already(turn: Sequence[Event], toolbox: Toolbox) -> TurnEnd | None:
    """How the model had ended the turn that a kill cut off; None if it was still at work."""
    last: MessageEvent | None = None
    answers: dict[str, ObservationEvent] = {}
    for event in turn:
        match event:
            case Prompt() | Steer():
                last = None
            case MessageEvent():
                last, answers = event, {}
            case ObservationEvent():
                answers[event.call] = event
            case _:
                continue
    if last is None or last.partial:
        return None
    if not last.actions:
        return TurnEnd(reason="refusal" if last.stop == "refusal" else "answer", text=last.text)
    batch = [(each, answers.get(each.id)) for each in last.actions]
    if any(answer is None or answer.failed for _, answer in batch):
        return None
    for asked, answer in batch:
        tool = toolbox.get(asked.tool)
        if answer is not None and ((tool is not None and tool.ends) or answer.data.get("ends") is True):
            return TurnEnd(reason="ended", text=str(answer.data.get("summary", last.text)))
    return None


def _as_found(workspace: Workspace, snapshots: Snapshots, tree: str, path: str) -> bool:
    try:
        state = snapshots.state_at(tree, path)
        if state is None:
            return workspace.changed[path] is None
        same = workspace.modes.get(path, state.mode) == state.mode
        return same and state.kept and snapshots.content(state) == workspace.changed[path]
    except LostObjectError:
        return False


def _remember(workspace: Workspace, snapshots: Snapshots, tree: str, path: str) -> None:
    if tree and path not in workspace.changed:
        try:
            state = snapshots.state_at(tree, path)
            content = snapshots.content(state) if state else None
        except LostObjectError:
            workspace.remember_lost(path)
        else:
            workspace.remember_state(path, state, content)


def _inside(files: _Paths, paths: Sequence[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            found.append(files.relative(path))
        except ValueError:  # the tool refused it then, too
            continue
    return found
