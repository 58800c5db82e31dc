"""`patchwright undo`, `redo` and `rewind`: undo file changes of a session, also after it has ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.session.undo import Timeline, UndoOutcome
    from sandbox.snapshots.workspace_snapshots import Snapshots


SessionOption = Annotated[
    str, typer.Option("--session", metavar="ID", help="Session to undo in; found if not given.")
]


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (undo, redo, rewind):
        app.command()(each)


def undo(folder: Folder = Path("."), session: SessionOption = "") -> None:
    """Undo the last turn's changes to files.

    Those of its commands are included; your own changes stay.
    """
    raise typer.Exit(undo_turn(folder, session))


def redo(folder: Folder = Path("."), session: SessionOption = "") -> None:
    """Restore the changes that the last undo removed."""
    raise typer.Exit(redo_turn(folder, session))


def rewind(
    step: Annotated[
        str, typer.Argument(metavar="[STEP]", help="Its number; without one, the steps are listed.")
    ] = "",
    folder: Folder = Path("."),
    session: SessionOption = "",
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Go back in the conversation; the files stay.")
    ] = False,
    both: Annotated[bool, typer.Option("--both", help="Files and conversation.")] = False,
) -> None:
    """Undo the file changes of a step and of all later ones."""
    if conversation and both:
        raise typer.BadParameter("give either --conversation or --both")
    what: Literal["files", "conversation", "both"] = (
        "both" if both else "conversation" if conversation else "files"
    )
    raise typer.Exit(rewind_to_step(folder, session, step, what))


What = Literal["files", "conversation", "both"]

_LEFT = "nothing to take back: no change of a session's is left in the files"

_GONE = "nothing to bring back: nothing was taken back last"


def undo_turn(folder: Path, session: str) -> int:
    """Undo the last turn that changed files. Returns the exit code."""
    from agent.session.undo import undo_last_turn

    return _apply_action(folder, session, undo_last_turn, lambda timeline: bool(timeline.active_steps))


def redo_turn(folder: Path, session: str) -> int:
    """Redo the last undo. Returns the exit code."""
    from agent.session.undo import redo_last_undo

    return _apply_action(
        folder, session, redo_last_undo, lambda timeline: bool(timeline.undone_steps), nothing=_GONE
    )


def rewind_to_step(folder: Path, session: str, step: str, what: What = "files") -> int:
    """List the steps of a session, or restore the state before one of them. Returns the exit code."""
    from agent.session.undo import rewind_steps
    from cli.commands.sessions.undo_report import format_steps, parse_step_number

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


def _forget_conversation(folder: Path, session: str, step: str) -> int:
    from agent.session.log import Session
    from agent.session.undo import rewind_conversation
    from cli.commands.sessions.undo_report import FORGOTTEN, parse_step_number

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
    act: Callable[[Snapshots, Timeline], UndoOutcome],
    able: Callable[[Timeline], bool],
    *,
    conversation: bool = False,
    nothing: str = _LEFT,
) -> int:
    from agent.session.log import Session, read_events
    from agent.session.undo import Timeline, log_outcome
    from cli.commands.sessions.undo_report import describe_uncovered, format_outcome
    from sandbox.snapshots.workspace_snapshots import Snapshots

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
    for line in describe_uncovered(root, place, outcome.paths) if nothing is _LEFT else ():
        print(sanitize_text(f"patchwright: {line}"), file=sys.stderr)
    return int(Exit.NOT_ACHIEVED if outcome.clashes else Exit.DONE)


def _find_session(
    folder: Path, session: str, able: Callable[[Timeline], bool]
) -> tuple[Path, Path, Timeline] | None:
    """Return (workspace, session folder, timeline) of the newest session for which `able` holds."""
    from agent.session.log import read_events
    from agent.session.log_lines import DamagedLog
    from agent.session.session_starter import check_own_files
    from agent.session.undo import Timeline
    from tools.core.workspace import AT_WORK

    root, _ = find_workspace_root(folder, need_git=False)
    home = Home.from_environment()
    named = [home.get_project_folder(root) / "sessions" / session] if session else []
    for place in named or _list_session_folders(home, root):
        try:
            check_own_files(place, root)
            if (place / AT_WORK).exists():
                _record_cut_off_work(home, root, place, place / AT_WORK)
            timeline = Timeline.from_events(read_events(place))
        except FileNotFoundError:
            raise UserError(
                Fault.USAGE, f"no session {place.name!r} in this project", "List them: patchwright sessions"
            ) from None
        except DamagedLog as damage:
            if named:
                raise
            print(sanitize_text(f"patchwright: left out: {damage.message}"), file=sys.stderr)
            continue
        if able(timeline):
            return root, place, timeline
    return None


def _record_cut_off_work(home: Home, root: Path, place: Path, marker: Path) -> None:
    """Record what a session's last action had done when its process ended."""
    from agent.session.log import Session
    from agent.turn.resume import record_cut_off_work
    from sandbox.snapshots.workspace_snapshots import LostObjectError, Snapshots

    try:
        log = Session.open(place)
    except UserError:  # its process has not ended
        return
    snapshots = Snapshots(root, home.get_project_folder(root) / "snapshots")
    try:
        record_cut_off_work(log, snapshots, marker)
    except LostObjectError:  # the state before it is lost, so there is nothing to go back to
        return
    finally:
        snapshots.close()
        log.close()


def _list_session_folders(home: Home, root: Path) -> list[Path]:
    """Return the session folders of the workspace, newest first."""
    from agent.session.session_index import load_session_summaries

    return [each.path for each in load_session_summaries(home, root) if each.project == str(root)]


def _report_nothing(what: str = _LEFT) -> int:
    print(sanitize_text(f"patchwright: {what}"), file=sys.stderr)
    return int(Exit.NOTHING_TO_DO)
