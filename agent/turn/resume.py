"""Reconstruction of a session's changed files, and of the state of its last turn, from the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
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
from agent.monitor.answers import TurnEnd
from agent.session.branch_history import History
from agent.session.log import INTERRUPTED, Session
from agent.session.log_index import parse_event_id
from sandbox.lazy_dataclass import dataclass
from sandbox.process.watchdog import read_death_time, stop_death_record
from sandbox.snapshots.workspace_snapshots import LostObjectError, Snapshots
from tools.changes.concurrent_changes import ConcurrentChanges
from tools.changes.session_changes import SessionChanges
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace


class _PathResolver(Protocol):
    def resolve_relative(self, path: str) -> str: ...


@dataclass(slots=True, kw_only=True)
class _InterruptedActions:
    """Actions since the last snapshot that may have written and whose results, or later snapshot, a kill prevented.

    before: the snapshot before them; start_time: start of the first one, in seconds since the epoch
    written_paths: paths named by edits among them; has_command: one was a command of the model, whose changes belong
    to the session; has_other_actions: one was another action that may have written anywhere
    """

    before: str
    start_time: float
    written_paths: set[str] = field(default_factory=set)
    has_command: bool = False
    has_other_actions: bool = False

    def add_action(self, action: ActionEvent, paths: Sequence[str], since: float) -> None:
        """Add an action. paths: those it named, inside the workspace"""
        self.start_time = min(self.start_time, since)
        self.written_paths.update(paths)
        self.has_command |= action.followed
        self.has_other_actions |= action.effect != "write"

    @property
    def possible_paths(self) -> set[str] | None:
        """Paths that they may have written, None for any."""
        return None if self.has_command or self.has_other_actions else self.written_paths

    def is_session_change(self, path: str) -> bool:
        """Return whether a change belongs to the session, to be committed."""
        return self.has_command or path in self.written_paths


def restore_changes(
    events: Iterable[Event],
    workspace: Workspace,
    snapshots: Snapshots | None,
    ended: Collection[str] = (),
    tree: str = "",
    last_message: int = 0,
) -> SnapshotEvent | None:
    """Fill `workspace.changes` with the paths that actions touched and that were not committed since.

    Of the differences from before an interrupted action, those certainly made until the kill count as its
    work; later changes, and those that may be either's, are left to the user. The returned snapshot, if any,
    records the decision: it belongs in the log, for an undo and later resumes to know it, too. Where a
    snapshot can no longer be read, the files are in `SessionChanges.lost` and count as changed.

    ended: paths whose interrupted write was just completed
    tree: the last snapshot before the first of the events
    last_message: place of the last reply: the snapshot after an action of an earlier one was taken
    """
    if snapshots is None:
        return None
    taken_up = _ChangeReplay(workspace, snapshots, tree)
    for event in events:
        taken_up.handle_event(event)
    if snapshots.is_damaged:
        snapshots.drop_damaged()
    found = taken_up.cut_off or taken_up.find_unrecorded_action(last_message)
    if found is None:
        return None
    left = _snapshot_interrupted_work(found, workspace, snapshots, ended)
    if taken_up.cut_off is None and left == found.before:  # it had changed nothing
        return None
    taken_up.claim_changes(left)
    return SnapshotEvent(tree=left, when="after")


def find_last_untracked_place(history: History) -> int:
    """Return the position up to which file changes are unknown, since no snapshot was taken before.

    The events after it include those that ran when the first snapshot was taken, or, if there is none, those
    that a kill may have interrupted.
    """
    first = history.find_oldest_place("snapshot", "undo")
    begun = (
        (parse_event_id(prompt.id) for prompt in history.select_marked_events("prompt", before=first))
        if first
        else ()
    )
    return max(max(begun, default=1) if first else history.find_newest_place("message"), 1) - 1


class _ChangeReplay:
    """Replays file events of a log into the workspace's facts."""

    def __init__(self, workspace: Workspace, snapshots: Snapshots, tree: str) -> None:
        self.cut_off: _InterruptedActions | None = None
        self._workspace = workspace
        self._snapshots = snapshots
        self._between = ConcurrentChanges(workspace.changes, lambda: snapshots, tree)
        self._tree = tree
        self._taken = 0.0  # time of that snapshot, in seconds since the epoch
        self._begun: dict[str, ActionEvent] = {}
        # The place of an observation, and the writes of its action; None unless it is the last event.
        self._answered: tuple[int, _InterruptedActions] | None = None

    def handle_event(self, event: Event) -> None:
        """Apply the next file event of the log."""
        self._answered = None
        match event:
            case SnapshotEvent():
                self._between.record_snapshot(event.tree, event.when)
                self._tree, self._taken = event.tree, event.time
                self.claim_changes(event.tree)
            case UndoEvent():
                # An undo that rewound the conversation has hidden the snapshots of the undone part.
                self._between.record_undo(event.before if event.told else event.after, event.after)
                self._tree = event.after
                apply_undo_event(
                    event,
                    self._workspace.changes,
                    partial(_is_original_state, self._workspace.changes, self._snapshots, self._tree),
                )
            case ActionEvent():
                self._begun[event.call] = event
            case ObservationEvent():
                self._handle_observation(event, self._begun.pop(event.call, None))

    def find_unrecorded_action(self, last_message: int) -> _InterruptedActions | None:
        """Return the action whose result is the log's last word on files: its changes are in no snapshot yet.

        last_message: see `restore_changes`
        """
        place, action = self._answered or (0, None)
        return action if place > last_message else None

    def claim_changes(self, tree: str) -> None:
        """Attribute the differences between the interrupted actions' start and this snapshot to them."""
        found, self.cut_off = self.cut_off, None
        if found is None or not found.before:
            return
        with suppress(LostObjectError):  # then their work is unknown
            for change in self._snapshots.list_changes(found.before, tree):
                if found.is_session_change(change.path):
                    self._remember_original_state(change.path, found.before)

    def _handle_observation(self, event: ObservationEvent, action: ActionEvent | None) -> None:
        lost = event.text == INTERRUPTED and action is not None and action.effect not in ("none", "read")
        paths = (
            _select_workspace_paths(self._workspace.files, action.paths)
            if action and action.effect == "write"
            else []
        )
        if lost and action is not None:
            since = max(action.time, self._taken)  # its own snapshot, if it is not the last
            self.cut_off = self.cut_off or _InterruptedActions(before=self._tree, start_time=since)
            self.cut_off.add_action(action, paths, since)
        changed = [*(() if lost else paths), *map(str, event.data.get("changed", ()))]
        for path in changed:
            self._remember_original_state(path, self._tree)
        if changed and action is not None and not action.within:
            since = max(action.time, self._taken)
            written = _InterruptedActions(before=self._tree, start_time=since, written_paths=set(changed))
            self._answered = parse_event_id(event.id), written
        if event.data.get("commit"):
            for path in event.data.get("files", ()):
                self._workspace.changes.forget(str(path))

    def _remember_original_state(self, path: str, tree: str) -> None:
        changes, snapshots = self._workspace.changes, self._snapshots
        if not tree or path in changes:
            return
        try:
            state = snapshots.find_state(tree, path)
            content = snapshots.read_content(state) if state else None
        except LostObjectError:
            changes.remember_lost(path)
        else:
            changes.remember_state(path, state, content)


def _snapshot_interrupted_work(
    found: _InterruptedActions, workspace: Workspace, snapshots: Snapshots, ended: Collection[str]
) -> str:
    """Return the snapshot that the interrupted actions left behind, without later changes by others."""
    if not found.before:
        return snapshots.take()
    moments = (round(found.start_time * 1e9), read_death_time(workspace.at_work_marker))
    surely = found.written_paths.intersection(ended)
    try:
        return snapshots.take_within(found.before, moments, only=found.possible_paths, surely=surely)
    except LostObjectError:  # the content before them is lost
        return snapshots.take()


def record_cut_off_work(session: Session, snapshots: Snapshots, marker: Path) -> bool:
    """Record the snapshot that the end of a process prevented, as far as the changes are certainly its own; return
    whether there were any. For an undo of a session that is not resumed.

    marker: the session's record of its death, which exists only if it ended while an action was writing
    """
    last = next(session.replayed.select_marked_newest_first("snapshot"), None)
    if not isinstance(last, SnapshotEvent) or last.when != "before":
        return False
    moments = (round(last.time * 1e9), read_death_time(marker))
    tree = snapshots.take_within(last.tree, moments)
    session.append(SnapshotEvent(tree=tree, when="after"))
    stop_death_record(marker)
    return tree != last.tree


def apply_undo_event(event: UndoEvent, changes: SessionChanges, as_found: Callable[[str], bool]) -> None:
    """Update the record of changes after an undo: later changes by the user to those files are not the session's.

    as_found: whether a file is now in its state before the session first changed it
    """
    for path in event.paths:
        if event.action == "redo":
            changes.mark_redone(path)
        elif path in changes and path not in changes.lost and as_found(path):
            changes.mark_undone(path)


def replay_interrupted_turn(
    history: History, toolbox: Toolbox, followers: Sequence[Callable[[Event], object]]
) -> TurnEnd | None:
    """Hand the logged part of the turn to its followers; return how the model had ended it, if it had."""
    events = read_interrupted_turn(history)
    for event in events:
        for follow in followers:
            follow(event)
    return find_turn_end(events, toolbox)


def read_interrupted_turn(history: History) -> list[Event]:
    """Return the observations of the last turn, and all events since its last message."""
    prompt, last = history.find_newest_place("prompt"), history.find_newest_place("prompt", "message")
    done = history.select_marked_events("observation+", after=prompt, before=last)
    return [*done, *(history.read_events_from(f"e{last}") if last else history)]


def find_turn_end(turn: Sequence[Event], toolbox: Toolbox) -> TurnEnd | None:
    """Return how the model had ended the interrupted turn; None if it was still working."""
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


def _is_original_state(changes: SessionChanges, snapshots: Snapshots, tree: str, path: str) -> bool:
    try:
        state = snapshots.find_state(tree, path)
        if state is None:
            return changes.originals[path] is None
        same = changes.original_modes.get(path, state.mode) == state.mode
        return same and state.is_kept and snapshots.read_content(state) == changes.originals[path]
    except LostObjectError:
        return False


def _select_workspace_paths(files: _PathResolver, paths: Sequence[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            found.append(files.resolve_relative(path))
        except ValueError:  # the tool refused it then, too
            continue
    return found
