"""Texts about undone steps, for the commands and for the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from agent.events import MessageEvent
from agent.session.log import read_events
from agent.session.undo import Step, Timeline, UndoOutcome
from sandbox.errors import Fault, UserError
from tools.core.text import format_count, join_names

FORGOTTEN = "the conversation goes on from before that step; the files stay as they are"


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
            lines.append(f"> {_cut_line(step.prompt, 70)}")
        lines.append(f"  {number:>3}  {step.label}")
    return lines or ["no step of this session has changed a file"]


def format_outcome(outcome: UndoOutcome) -> list[str]:
    """Format the outcome of an undo as lines for the user."""
    reasons = [f"  {path}: {reason}" for path, reason in outcome.clashes.items()]
    if reasons and outcome.event is None:
        return [f"nothing was {'redone' if outcome.action == 'redo' else 'undone'}:", *reasons]
    what = {
        "undo": f"as before the turn {_shorten_prompt(outcome.steps)}",
        "redo": "brought back",
        "rewind": "as before that step",
    }[outcome.action]
    lines = [f"{format_count(len(outcome.paths), 'file')} {what}:", *(f"  {path}" for path in outcome.paths)]
    lines = lines if outcome.paths or not outcome.git else []
    if outcome.git:
        lines.append(f"git's data {what}: {join_names(outcome.git, 5)}")
    elif not outcome.paths and not reasons:
        lines.append("  (it had been done already)")
    if reasons:
        lines += [f"left as {'it is' if len(reasons) == 1 else 'they are'}:", *reasons]
    if outcome.commits:
        lines.append(
            f"The commit {outcome.commits[-1][:7]} stays in the history; git revert would take that back."
        )
    return lines


def _shorten_prompt(steps: Sequence[Step]) -> str:
    """Return the beginning of the prompt of the undone turn: it need not be the last turn, which may have changed
    nothing."""
    return repr(_cut_line(steps[0].prompt, 50)) if steps else ""


def _cut_line(text: str, width: int) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= width else f"{line[: width - 1]}…"


def describe_uncovered(root: Path, place: Path, covered: Collection[str] = ()) -> list[str]:
    """Describe what commands may have changed and undo does not cover: files of nested repositories, ignored files,
    and paths that are too long.

    place: folder of the session; changes since its start count
    covered: paths that the undo restored
    """
    from sandbox.snapshots.coverage.overlong_paths import find_overlong_folders
    from tools.git.ignored_changes import find_ignored_changes
    from tools.git.nested_repositories import find_nested_changes

    with suppress(FileNotFoundError, UserError):
        first = next(iter(read_events(place)), None)
        start = first.time if first else 0.0
        nested = [
            f"not undone: {format_count(len(paths), 'file')} of the repository in {folder!r} changed since the session"
            f" began (git -C {shlex.quote(folder)} status)"
            for folder, paths in find_nested_changes(root, start).items()
        ]
        ignored = [path for path in find_ignored_changes(root, start) if path not in covered]
        if ignored:
            what = format_count(len(ignored), "file")
            named = join_names(ignored, _NAMED)
            nested.append(f"not undone: {what} that git ignores changed since the session began: {named}")
        nested += _describe_removals(root, place, covered)
        return nested + [
            f"not undone: entries of the folder {_shorten(folder)}, whose paths are too long for this system"
            for folder in find_overlong_folders(root.resolve(), start)
        ]
    return []


def _describe_removals(root: Path, place: Path, covered: Collection[str]) -> list[str]:
    """Describe the ignored files that commands of the session removed."""
    from tools.git.ignored_changes import find_removed_files

    lines = [
        str(action.arguments.get("command", ""))
        for event in read_events(place)
        if isinstance(event, MessageEvent)
        for action in event.actions
        if action.tool == "shell"
    ]
    gone, unnamed = find_removed_files(root, lines)
    gone = [path for path in gone if path not in covered]
    found = []
    if gone:
        what, named = format_count(len(gone), "path"), join_names(gone, _NAMED)
        found.append(
            f"not undone: {what} that git ignores, and that commands of the session removed: {named}"
        )
    return found + [
        f"not undone: files that git ignores, if {_cut_line(line, _SHOWN)!r} removed any" for line in unnamed
    ]


_SHOWN = 60

_NAMED = 3
"""Ignored files listed by name."""


def _shorten(folder: str) -> str:
    if len(folder) <= _SHOWN:
        return repr(folder)
    return f"{folder[:_SHOWN] + '…'!r} ({format_count(folder.count('/') + 1, 'folder')} deep)"
