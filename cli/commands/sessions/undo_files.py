"""`patchwright undo`, `redo` and `rewind`: undo file changes of a session, also after it has ended."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.session.log import Session, read_events
from agent.session.session_index import load_session_summaries
from agent.session.undo import (
    Timeline,
    UndoOutcome,
    log_outcome,
    redo_last_undo,
    rewind_conversation,
    rewind_steps,
    undo_last_turn,
)
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from sandbox.snapshots.workspace_snapshots import Snapshots
from tools.core.text import format_count

What = Literal["files", "conversation", "both"]

FORGOTTEN = "the conversation goes on from before that step; the files stay as they are"

_LEFT = "nothing to take back: no change of a session's is left in the files"
_GONE = "nothing to bring back: nothing was taken back last"

Act = Callable[[Snapshots, Timeline], UndoOutcome]


def undo_turn(folder: Path, session: str) -> int:
    """Undo the last turn that changed files. Returns the exit code."""
    return _apply_action(folder, session, undo_last_turn, lambda timeline: bool(timeline.active_steps))


def redo_turn(folder: Path, session: str) -> int:
    """Redo the last undo. Returns the exit code."""
    return _apply_action(
        folder, session, redo_last_undo, lambda timeline: bool(timeline.undone_steps), nothing=_GONE
    )


def rewind_to_step(folder: Path, session: str, step: str, what: What = "files") -> int:
    """List the steps of a session, or restore the state before one of them. Returns the exit code."""
    if step and what == "conversation":
        return _forget_conversation(folder, session, step)
    if step:
        return _apply_action(
            folder,
            session,
            lambda snapshots, timeline: rewind_steps(snapshots, timeline, parse_step_number(step, timeline)),
            lambda timeline: bool(timeline.active_steps),
            conversation=what == "both",
        )
    found = _find_session(folder, session, lambda timeline: bool(timeline.active_steps))
    if found is None:
        return _report_nothing()
    _, _, timeline = found
    print(sanitize_text("\n".join(format_steps(timeline))))
    return int(Exit.DONE)


def parse_step_number(text: str, timeline: Timeline) -> int:
    """Parse a step number given by the user. Raises UserError."""
    if text.isdecimal() and 1 <= int(text) <= len(timeline.active_steps):
        return int(text)
    there = f"there are {len(timeline.active_steps)}" if timeline.active_steps else "there is none"
    raise UserError(Fault.USAGE, f"no step {text!r}: {there}", "List them: patchwright rewind")


def format_steps(timeline: Timeline) -> list[str]:
    """Return a line for each step that can be undone, under its turn's prompt."""
    lines: list[str] = []
    turn = 0
    for number, step in enumerate(timeline.active_steps, 1):
        if step.turn != turn:
            turn = step.turn
            prompt = step.prompt.strip().partition("\n")[0]
            lines.append(f"> {prompt if len(prompt) <= 70 else prompt[:69] + '…'}")
        lines.append(f"  {number:>3}  {step.label}")
    return lines or ["no step of this session has changed a file"]


def format_outcome(outcome: UndoOutcome) -> list[str]:
    """Format the outcome of an undo as lines for the user."""
    if outcome.clashes:
        reasons = [f"  {path}: {reason}" for path, reason in outcome.clashes.items()]
        return ["nothing was undone: some files have changed since that turn", *reasons]
    what = {
        "undo": "as before that turn",
        "redo": "brought back",
        "rewind": "as before that step",
    }[outcome.action]
    lines = [f"{format_count(len(outcome.paths), 'file')} {what}:", *(f"  {path}" for path in outcome.paths)]
    if not outcome.paths:
        lines.append("  (it had been done already)")
    if outcome.commits:
        lines.append(
            f"The commit {outcome.commits[-1][:7]} stays in the history; git revert would take that back."
        )
    return lines


def describe_uncovered(root: Path, place: Path) -> list[str]:
    """Describe files of nested repositories, which commands may have changed and undo does not cover.

    place: folder of the session; changes since its start count
    """
    from tools.git.nested_repositories import find_nested_changes

    with suppress(FileNotFoundError, UserError):
        start = next(iter(read_events(place)), None)
        return [
            f"not undone: {format_count(len(paths), 'file')} of the repository in {folder!r} changed since the session"
            f" began (git -C {shlex.quote(folder)} status)"
            for folder, paths in find_nested_changes(root, start.time if start else 0.0).items()
        ]
    return []


def _forget_conversation(folder: Path, session: str, step: str) -> int:
    found = _find_session(folder, session, lambda timeline: bool(timeline.active_steps))
    if found is None:
        return _report_nothing()
    log = Session.open(found[1])
    try:
        rewind_conversation(log, found[2], parse_step_number(step, found[2]))
    finally:
        log.close()
    print(FORGOTTEN)
    return int(Exit.DONE)


def _apply_action(
    folder: Path,
    session: str,
    act: Act,
    able: Callable[[Timeline], bool],
    *,
    conversation: bool = False,
    nothing: str = _LEFT,
) -> int:
    found = _find_session(folder, session, able)
    home = Home.from_environment()
    if found is None:
        root, _ = find_workspace_root(folder, need_git=False)
        latest = (
            [home.get_project_folder(root) / "sessions" / session]
            if session
            else _list_session_folders(home, root)[:1]
        )
        left = (
            [line for each in latest for line in describe_uncovered(root, each)] if nothing is _LEFT else []
        )
        return _report_nothing("\n".join(["nothing to take back", *left]) if left else nothing)
    root, place, _ = found
    log = Session.open(place)
    snapshots = Snapshots(root, home.get_project_folder(root) / "snapshots")
    try:
        outcome = act(snapshots, Timeline.from_events(read_events(place)))
        log_outcome(log, outcome, conversation=conversation)
    finally:
        snapshots.close()
        log.close()
    print(
        sanitize_text("\n".join(format_outcome(outcome))), file=sys.stderr if outcome.clashes else sys.stdout
    )
    for line in describe_uncovered(root, place) if nothing is _LEFT else ():
        print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
    return int(Exit.NOT_ACHIEVED if outcome.clashes else Exit.DONE)


def _find_session(
    folder: Path, session: str, able: Callable[[Timeline], bool]
) -> tuple[Path, Path, Timeline] | None:
    """Return (workspace, session folder, timeline) of the newest session for which `able` holds."""
    root, _ = find_workspace_root(folder, need_git=False)
    home = Home.from_environment()
    named = [home.get_project_folder(root) / "sessions" / session] if session else []
    for place in named or _list_session_folders(home, root):
        try:
            timeline = Timeline.from_events(read_events(place))
        except FileNotFoundError:
            raise UserError(
                Fault.USAGE, f"no session {place.name!r} in this project", "List them: patchwright sessions"
            ) from None
        if able(timeline):
            return root, place, timeline
    return None


def _list_session_folders(home: Home, root: Path) -> list[Path]:
    """Return the session folders of the workspace, newest first."""
    return [each.path for each in load_session_summaries(home, root)]


def _report_nothing(what: str = _LEFT) -> int:
    print(sanitize_text(f"patchwright: {what}"), file=sys.stderr)
    return int(Exit.NOTHING_TO_DO)
