"""`patchwright sessions` and `patchwright resume`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from agent.session.session_preview import NO_SUCH, SessionPreview, preview_session
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_json, sanitize_text

if TYPE_CHECKING:
    from agent.session.session_index import SessionSummary


def list_sessions(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print the sessions of a project (or of all)."""
    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    from agent.session.session_index import load_session_summaries

    found = load_session_summaries(Home.from_environment(), root)
    if as_json:
        import json
        from dataclasses import asdict

        for each in found:
            print(sanitize_json(json.dumps({**asdict(each), "path": str(each.path)}, ensure_ascii=False)))
        return 0
    if not found:
        print("no sessions yet" if root is None else sanitize_text(f"no sessions in {root}"), file=sys.stderr)
    for each in found:
        print(format_session_line(each, with_project=all_projects))
    return 0


def format_session_line(summary: SessionSummary, *, with_project: bool = False) -> str:
    """Format a session on one line: id, time, outcome, steps, cost, title."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated))
    cost = "" if summary.cost is None else f"  ${summary.cost:.4f}"
    where = f"  {summary.project}" if with_project else ""
    steps = f"{summary.steps} step{'' if summary.steps == 1 else 's'}"
    return sanitize_text(
        f"{summary.id}  {when}  {summary.outcome:<12}  {steps:>9}{cost}{where}  {summary.title}"
    )


def resume_session(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
) -> int:
    """Resume a session: send `prompt`, continue an unfinished turn, or open it in the terminal."""
    if prompt is None and output == "text" and sys.stdin.isatty():
        state = _read_state(folder, session)
        if not state.unfinished:  # a user waits: skip the imports that only a run needs
            from cli.commands.run.interactive import open_interactive

            return open_interactive(folder, _add_session_model(flags, state), session=state.id, commit=commit)
    from cli.commands.run.one_shot import run_with_final_event

    return run_with_final_event(
        output, lambda: _resume_without_terminal(folder, session, prompt, flags, output=output, commit=commit)
    )


def _resume_without_terminal(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
) -> int:
    state = _read_state(folder, session)
    flags = _add_session_model(flags, state)
    from cli.commands.run.one_shot import continue_turn, run_one_shot

    if prompt is not None:
        return run_one_shot(folder, prompt, flags, output=output, commit=commit, session=state.id)
    if state.unfinished:
        return continue_turn(folder, flags, output=output, commit=commit, session=state.id)
    raise UserError(
        Fault.USAGE,
        f"session {state.id!r} has no unfinished turn",
        "Say what to do next: patchwright resume -p PROMPT",
    )


def find_newest_session(home: Home, root: Path) -> str:
    """Return the id of the project's most recently written session. Raises UserError if there is none."""
    logs = (home.get_project_folder(root) / "sessions").glob("*/log.jsonl")
    found = max(((path.stat().st_mtime_ns, path.parent.name) for path in logs), default=None)
    if found is None:
        raise UserError(
            Fault.USAGE, f"no session to resume in {str(root)!r}", "Start one: patchwright run PROMPT"
        )
    return found[1]


def _read_state(folder: Path, session: str) -> SessionPreview:
    """Return the preview of the session with this id, or of the newest one."""
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
