"""Undo, redo and rewind of a session's writing steps, from its log.

A step is the set of changes of its batch of actions, each between the snapshots before and after it: changes
that the user made between two steps, or since, are never undone. An undo is logged with its own two
snapshots, so that it can be undone as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from agent.events import (
    ActionEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SnapshotEvent,
    Steer,
    UndoAction,
    UndoEvent,
)
from agent.session.log import Session
from agent.session.log_index import parse_event_id
from sandbox.fs.repository import find_git_dir, find_root
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import quote_name
from sandbox.snapshots.workspace_snapshots import RestoreResult
from tools.core.text import join_names

NAMED = 20
"""Files listed by name to the model."""

LABEL = 70
"""Characters of a step's label in a list of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step that changed files.

    id: of the event that ends it, by which an undo names it; turn: the number of its turn, from 1
    start: id of the event before it; before its prompt, if it is the first step of its turn
    spans: the snapshots before and after each part of it
    git: what its git commands changed of git's own data, as `tools.git.git_state` compares it
    label: its action, as "edit cart.py"; prompt: of its turn
    """

    id: str
    turn: int
    start: str
    spans: tuple[tuple[str, str], ...]
    label: str
    prompt: str
    git: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneSteps:
    """Undone steps, and the snapshots around the undo."""

    steps: tuple[Step, ...]
    before: str
    after: str


@dataclass(slots=True)
class Timeline:
    """The writing steps of a session, followed from its log.

    active_steps: steps in effect, oldest first; undone_steps: steps undone since the last step, the last one at the end
    commits: of each turn, by its number
    """

    active_steps: list[Step] = field(default_factory=list)
    undone_steps: list[UndoneSteps] = field(default_factory=list)
    commits: dict[int, list[str]] = field(default_factory=dict)
    _turn: int = 0
    _prompt: str = ""
    _tree: str = ""
    _labels: list[str] = field(default_factory=list)
    _asked: dict[str, str] = field(default_factory=dict)
    _start: str = ""
    _first: bool = False
    _going: bool = False  # the last step is of the running batch

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Timeline:
        """Build the timeline of a log."""
        timeline = cls()
        for event in events:
            timeline.handle_event(event)
        return timeline

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case Prompt():
                self._turn += 1
                self._prompt = event.text
                self._start, self._first, self._going = event.parent, True, False
            case MessageEvent():
                if not self._first:
                    self._start = event.parent
                self._asked = {each.id: str(each.arguments.get("command", "")) for each in event.actions}
                self._labels.clear()
                self._going = False
            case ActionEvent() if event.effect not in ("read", "none"):
                if event.call not in self._asked and not event.within:  # of the harness, after the batch
                    self._going = False
                what = event.paths[0] if event.paths else self._asked.get(event.call, "")
                self._labels.append(f"{event.tool} {what}".strip().partition("\n")[0])
            case ObservationEvent() if event.data.get("git"):
                earlier = self.active_steps.pop() if self._going else None
                self._add_step(event.id, earlier, earlier.spans if earlier else (), event.data["git"])
            case ObservationEvent() if event.data.get("commit"):
                self.commits.setdefault(self._turn, []).append(str(event.data["commit"]))
            case SnapshotEvent():
                self._handle_snapshot(event)
            case UndoEvent():
                self._handle_undo(event)

    def list_last_turn_steps(self) -> list[Step]:
        """Return the steps of the last turn that changed files."""
        return [step for step in self.active_steps if step.turn == self.active_steps[-1].turn]

    def list_steps_since(self, prompt: Prompt) -> list[Step]:
        """Return the steps after a prompt, on whatever branch: the last ones of `done`.

        By their places in the log, since turns are counted over all branches and prompts on the present one.
        """
        return [step for step in self.active_steps if parse_event_id(step.id) > parse_event_id(prompt.id)]

    def _handle_snapshot(self, event: SnapshotEvent) -> None:
        if event.when == "after" and self._tree and event.tree != self._tree:
            earlier = self.active_steps.pop() if self._going else None
            spans, part = earlier.spans if earlier else (), (self._tree, event.tree)
            if spans and spans[-1][1] == self._tree:
                spans, part = spans[:-1], (spans[-1][0], event.tree)
            self._add_step(event.id, earlier, (*spans, part))
        self._tree = event.tree

    def _add_step(
        self,
        event: str,
        earlier: Step | None,
        spans: tuple[tuple[str, str], ...],
        git: Mapping[str, Any] | None = None,
    ) -> None:
        label = "; ".join(dict.fromkeys(self._labels)) or "changes"
        self.active_steps.append(
            Step(
                id=event,
                turn=self._turn,
                start=earlier.start if earlier else self._start,
                spans=spans,
                label=label if len(label) <= LABEL else label[: LABEL - 1] + "…",
                prompt=self._prompt,
                git=(*(earlier.git if earlier else ()), *((git,) if git else ())),
            )
        )
        self.undone_steps.clear()
        self._first, self._going = False, True

    def _handle_undo(self, event: UndoEvent) -> None:
        named = set(event.steps)
        if event.action == "redo":
            if self.undone_steps:
                self.active_steps += self.undone_steps.pop().steps
        else:
            steps = tuple(step for step in self.active_steps if step.id in named)
            if not steps and event.before != event.after:
                steps = (self._make_left_step(event),)
            self.active_steps = [step for step in self.active_steps if step.id not in named]
            self.undone_steps.append(UndoneSteps(steps=steps, before=event.before, after=event.after))
        self._tree, self._going = event.after, False

    def _make_left_step(self, event: UndoEvent) -> Step:
        """Return what an undo took back as one step: its own steps are on a branch that the conversation has left."""
        return Step(
            id=event.id,
            turn=self._turn,
            start=event.parent,
            spans=((event.after, event.before),),
            label="changes of a part of the conversation that was left",
            prompt=self._prompt,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOutcome:
    """Outcome of an undo, a redo or a rewind.

    steps: those that were undone (or redone)
    paths: files that it changed
    git: parts of git's data that it changed, as "HEAD" or the name of a reference
    clashes: paths, and parts of git's data, that were left alone, and why
    commits: that contain some of it, and stay in the history
    event: for the session's log, None if no file was changed
    """

    action: UndoAction
    steps: tuple[Step, ...] = ()
    paths: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    clashes: Mapping[str, str] = field(default_factory=dict)
    commits: tuple[str, ...] = ()
    event: UndoEvent | None = None


class Reverter(Protocol):
    """Snapshot operations needed here. root: the workspace"""

    @property
    def root(self) -> Path: ...
    def cover(self, spans: Sequence[tuple[str, str]]) -> None: ...
    def take(self) -> str: ...
    def revert(self, spans: Sequence[tuple[str, str]]) -> RestoreResult: ...
    def revert_unchanged(self, spans: Sequence[tuple[str, str]]) -> RestoreResult: ...


def undo_last_turn(snapshots: Reverter, timeline: Timeline) -> UndoOutcome:
    """Undo the last turn that changed files; without any, return an outcome without steps. Blocking."""
    return _revert_steps(
        snapshots, timeline, "undo", timeline.list_last_turn_steps() if timeline.active_steps else []
    )


def rewind_steps(snapshots: Reverter, timeline: Timeline, number: int) -> UndoOutcome:
    """Undo step `number` of `timeline.done`, counted from 1, and all after it."""
    return _revert_steps(snapshots, timeline, "rewind", timeline.active_steps[number - 1 :])


def rewind_conversation(session: Session, timeline: Timeline, number: int) -> None:
    """Rewind the conversation to before step `number`; files stay unchanged, and the model is informed."""
    _rewind_session(session, timeline.active_steps[number - 1])
    text = (
        "[We went back to this point of our conversation. Files that were changed after it stay as they are.]"
    )
    session.append(Steer(text=text, by="harness"))


def log_outcome(session: Session, outcome: UndoOutcome, *, conversation: bool = False) -> None:
    """Log the outcome; with `conversation` also rewind the log to before the first of the steps."""
    if outcome.event is not None:
        if conversation:
            _rewind_session(session, outcome.steps[0])
            outcome.event.told = False
        session.append(outcome.event)


def _rewind_session(session: Session, step: Step) -> None:
    if step.start:  # the steps of a log begin with its first event
        session.rewind(step.start)


def redo_last_undo(snapshots: Reverter, timeline: Timeline) -> UndoOutcome:
    """Revert the last undo or rewind, unless a step followed it."""
    if not timeline.undone_steps:
        return UndoOutcome(action="redo")
    last = timeline.undone_steps[-1]
    return _revert_spans(snapshots, "redo", last.steps, [(last.before, last.after)])


def _revert_steps(
    snapshots: Reverter, timeline: Timeline, action: UndoAction, steps: Sequence[Step]
) -> UndoOutcome:
    turns = dict.fromkeys(step.turn for step in steps)
    commits = [commit for turn in turns for commit in timeline.commits.get(turn, ())]
    spans = [span for step in steps for span in step.spans]
    return _revert_spans(snapshots, action, steps, spans, commits)


def _revert_spans(
    snapshots: Reverter,
    action: UndoAction,
    steps: Sequence[Step],
    spans: Sequence[tuple[str, str]],
    commits: Sequence[str] = (),
) -> UndoOutcome:
    if not steps:
        return UndoOutcome(action=action)
    changes = [change for step in steps for change in step.git]
    if obstacles := _find_git_obstacles(snapshots.root, changes):
        return UndoOutcome(action=action, steps=tuple(steps), clashes=obstacles)
    if action != "redo" and _has_later_commit(snapshots.root, changes):
        spans = [span for step in steps if not step.git for span in step.spans]
    snapshots.cover(spans)  # so that a redo knows all that this changes
    before = snapshots.take()
    restored, clashes = _revert_files(snapshots, spans)
    if clashes and not restored.changes:
        return UndoOutcome(action=action, steps=tuple(steps), clashes=clashes)
    changed, left = _revert_git(snapshots.root, changes, forward=action == "redo", keep_stash=bool(clashes))
    paths = tuple(change.path for change in restored.changes)
    ids = [step.id for step in steps]
    event = UndoEvent(action=action, steps=ids, before=before, after=snapshots.take(), paths=list(paths))
    return UndoOutcome(
        action=action,
        steps=tuple(steps),
        paths=paths,
        git=changed,
        clashes={**clashes, **left},
        commits=tuple(commits),
        event=event,
    )


def _revert_files(
    snapshots: Reverter, spans: Sequence[tuple[str, str]]
) -> tuple[RestoreResult, Mapping[str, str]]:
    """Revert the files; return the result, and the paths that were left alone, with the reason.

    In the middle of a merge, a rebase or a bisect, git wrote the files of another commit, or conflicts, into the work
    tree: what is no longer as the session left it is not merged then.
    """
    from tools.git.unfinished_operation import find_unfinished_operation

    root = find_root(snapshots.root)
    git = find_git_dir(root) if root is not None else None
    operation = find_unfinished_operation(git) if git is not None else ""
    if not operation:
        restored = snapshots.revert(spans)
        return restored, restored.clashes
    restored = snapshots.revert_unchanged(spans)
    return restored, {
        path: f"{why}, and {operation} is in progress" for path, why in restored.clashes.items()
    }


def _find_git_obstacles(root: Path, changes: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the parts of git's data that cannot be put back now: then the files wait for them."""
    if not changes:
        return {}
    from tools.git.git_state import find_obstacles

    return find_obstacles(root, changes)


def _has_later_commit(root: Path, changes: Sequence[Mapping[str, Any]]) -> bool:
    if not changes:
        return False
    from tools.git.git_state import has_later_commit

    return has_later_commit(root, changes)


def _revert_git(
    root: Path, changes: Sequence[Mapping[str, Any]], *, forward: bool, keep_stash: bool
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Put back what git commands changed; return the parts that changed, and those left alone."""
    if not changes:
        return (), {}
    from tools.git.git_state import name_parts, revert_states

    left = revert_states(root, changes, forward=forward, keep_stash=keep_stash)
    return tuple(each for each in name_parts(changes) if each not in left), left


def format_undo_event(event: UndoEvent) -> str:
    """Describe an undo for the model, whose view of the files is outdated."""
    done = {
        "undo": "undone the changes of your last turn",
        "redo": "redone the changes that I had undone",
        "rewind": "taken back the changes of your last steps",
    }[event.action]
    shown = join_names([quote_name(path) for path in event.paths], NAMED)
    state = "are back" if event.action == "redo" else "are as they were before it"
    return f"[I have {done}: {shown or 'its files'} {state}. Read them again before you rely on them.]"
