"""`patchwright resume`: continue a session."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.options import Flags, Folder, NoCommit, Output, OutputOption, takes_flags
from cli.commands.run.run_options import Background, DetachedReport
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.session.session_preview import SessionPreview


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(resume)


@takes_flags
def resume(
    *,
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
    ] = "",
    prompt: Annotated[
        str | None,
        typer.Option(
            "-p", "--prompt", metavar="PROMPT", help="Send this prompt instead of continuing the turn."
        ),
    ] = None,
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    output: OutputOption = Output.text,
    place: Annotated[Flags, "mode sandbox test_command"],
    no_commit: NoCommit = False,
    background: Background = False,
    detached: DetachedReport = None,
) -> None:
    """Continue a session.

    In a terminal it opens, and offers to go on with an unfinished turn; a script continues that turn.
    """
    if background:
        from cli.commands.detached.start import start_in_background

        raise typer.Exit(start_in_background(prompt="resume"))
    flags = {**model, **place}
    raise typer.Exit(
        resume_session(
            folder, session, prompt, flags, output=output.value, commit=not no_commit, detached=detached
        )
    )


def resume_session(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    detached: str | None = None,
) -> int:
    """Resume a session: send `prompt`, open it in the terminal, or continue an unfinished turn without one."""
    if prompt is None and output == "text" and sys.stdin.isatty():
        state = _read_state(folder, session)
        if sys.stdout.isatty() or not state.unfinished:  # nobody answers where nobody sees the question
            from cli.commands.run.interactive import open_interactive

            return open_interactive(folder, _add_session_model(flags, state), session=state.id, commit=commit)
    from cli.commands.run.final_event import run_with_final_event

    return run_with_final_event(
        output,
        lambda: _resume_without_terminal(
            folder, session, prompt, flags, output=output, commit=commit, detached=detached
        ),
    )


def _resume_without_terminal(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    detached: str | None = None,
) -> int:
    state = _read_state(folder, session)
    flags = _add_session_model(flags, state)
    from cli.commands.run.one_shot import continue_turn, run_one_shot

    if prompt is not None:
        return run_one_shot(
            folder, prompt, flags, output=output, commit=commit, session=state.id, detached=detached
        )
    if state.unfinished:
        return continue_turn(folder, flags, output=output, commit=commit, session=state.id, detached=detached)
    raise UserError(
        Fault.USAGE,
        f"session {state.id!r} has no unfinished turn",
        "Say what to do next: patchwright resume -p PROMPT",
    )


def find_newest_session(home: Home, root: Path) -> str:
    """Return the id of the project's most recently written session in which a person asked something.

    Raises UserError if there is none.
    """
    from agent.session.session_preview import has_prompt, is_child_session, list_logs

    logs = list_logs(home.get_project_folder(root) / "sessions")
    newest = sorted(((path.stat().st_mtime_ns, path.parent) for path in logs), reverse=True)
    found = next(
        (folder.name for _, folder in newest if not is_child_session(folder) and has_prompt(folder)), None
    )
    if found is None:
        raise UserError(
            Fault.USAGE, f"no session to resume in {str(root)!r}", "Start one: patchwright run PROMPT"
        )
    return found


def _read_state(folder: Path, session: str) -> SessionPreview:
    """Return the preview of the session with this id, or of the newest one."""
    from agent.session.session_preview import NO_SUCH, preview_session

    home = Home.from_environment()
    root, _ = find_workspace_root(folder, need_git=False)
    session = session or find_newest_session(home, root)
    try:
        return preview_session(home.get_project_folder(root) / "sessions" / session)
    except OSError as error:
        if error.errno not in NO_SUCH:
            raise
        raise UserError(
            Fault.USAGE, f"no session {session!r} in this project", "List them: patchwright sessions"
        ) from None


def _add_session_model(flags: Mapping[str, Any], state: SessionPreview) -> Mapping[str, Any]:
    """Add the session's model to the flags, unless they name another one."""
    return {"model": state.model, **flags} if state.model else flags
