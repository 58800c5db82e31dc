"""`patchwright sessions` and `patchwright resume`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.assemble import locate
from agent.events import End, Prompt, SessionStart
from agent.home import Home
from agent.index import Summary
from agent.index import sessions as indexed
from agent.session import read
from sandbox.errors import Fault, UserError
from sandbox.inert import inert, inert_json


def list_sessions(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print the sessions of a project (or of all)."""
    root = None if all_projects else locate(folder, need_git=False)[0]
    found = indexed(Home.from_environment(), root)
    if as_json:
        import json
        from dataclasses import asdict

        for each in found:
            print(inert_json(json.dumps({**asdict(each), "path": str(each.path)}, ensure_ascii=False)))
        return 0
    if not found:
        print("no sessions yet" if root is None else inert(f"no sessions in {root}"), file=sys.stderr)
    for each in found:
        print(line(each, with_project=all_projects))
    return 0


def line(summary: Summary, *, with_project: bool = False) -> str:
    """One session on one line: id, when, outcome, steps, cost, title."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated))
    cost = "" if summary.cost is None else f"  ${summary.cost:.4f}"
    where = f"  {summary.project}" if with_project else ""
    steps = f"{summary.steps} step{'' if summary.steps == 1 else 's'}"
    return inert(f"{summary.id}  {when}  {summary.outcome:<12}  {steps:>9}{cost}{where}  {summary.title}")


def resume_session(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
) -> int:
    """Go on with a session: say `prompt`, continue an unfinished turn, or open it in the terminal."""
    from cli.run import guarded

    return guarded(output, lambda: _resume(folder, session, prompt, flags, output=output, commit=commit))


def _resume(
    folder: Path,
    session: str,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
) -> int:
    home = Home.from_environment()
    root, _ = locate(folder, need_git=False)
    session = session or newest(home, root)
    path = home.project(root) / "sessions" / session
    model, unfinished = _state(path)
    flags = {"model": model, **flags} if model else flags
    from cli.run import go_on, one_shot

    if prompt is not None:
        return one_shot(folder, prompt, flags, output=output, commit=commit, session=session)
    if unfinished:
        return go_on(folder, flags, output=output, commit=commit, session=session)
    if sys.stdin.isatty() and output == "text":
        from cli.interactive import interactive

        return interactive(folder, flags, session=session, commit=commit)
    raise UserError(
        Fault.USAGE,
        f"session {session!r} has no unfinished turn",
        "Say what to do next: patchwright resume -p PROMPT",
    )


def newest(home: Home, root: Path) -> str:
    """Id of the session of a project that was touched last. Raises UserError if there is none."""
    found = indexed(home, root)
    if not found:
        raise UserError(
            Fault.USAGE, f"no session to resume in {str(root)!r}", "Start one: patchwright run PROMPT"
        )
    return found[0].id


def _state(folder: Path) -> tuple[str, bool]:
    """(model, whether the last turn has no end)."""
    model, unfinished = "", False
    try:
        for event in read(folder):
            if isinstance(event, SessionStart):
                model = event.model
            elif isinstance(event, Prompt):
                unfinished = True
            elif isinstance(event, End):
                unfinished = False
    except FileNotFoundError:
        raise UserError(
            Fault.USAGE, f"no session {folder.name!r} in this project", "List them: patchwright sessions"
        ) from None
    return model, unfinished
