"""`patchwright ps`: runs at work, in terminals and without, and those that wait or died."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.options import Folder
from cli.output.standard_streams import print_json

if TYPE_CHECKING:
    from cli.detached.run_state import RunState


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(ps)


def ps(
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Runs of every project.")] = False,
    ended: Annotated[bool, typer.Option("--ended", help="Background runs that have ended, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the runs at work, and those that died."""
    raise typer.Exit(list_runs(folder, all_projects=all_projects, ended=ended, as_json=as_json))


def list_runs(folder: Path, *, all_projects: bool, ended: bool, as_json: bool) -> int:
    """Print the runs of a project, or of all."""
    from agent.app_dirs import Home
    from agent.workspace_root import find_workspace_root
    from cli.detached.run_state import load_run_states
    from sandbox.sanitize import sanitize_text

    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    found = load_run_states(Home.from_environment(), root, ended=ended)
    if as_json:
        from dataclasses import asdict

        for each in found:
            print_json({**asdict(each), "path": str(each.path)})
        return 0
    if not found:
        print(
            "no runs at work" if root is None else sanitize_text(f"no runs at work in {root}"),
            file=sys.stderr,
        )
    _print_table(found, with_project=all_projects)
    return 0


def _print_table(found: list[RunState], *, with_project: bool) -> None:
    from cli.output.amounts import format_duration
    from cli.output.tables import Column, print_table
    from sandbox.sanitize import sanitize_text

    columns = [
        Column(title="session"),
        Column(title="state", style=_choose_style),
        Column(title="time", right=True),
        Column(title="steps", right=True),
        Column(title="cost", right=True),
        *([Column(title="project", wraps=True)] if with_project else []),
        Column(title="task or question", wraps=True),
    ]
    rows = [
        (
            each.id,
            sanitize_text(_describe(each)),
            format_duration(each.seconds) if each.state in ("running", "waiting") else "",
            str(each.steps),
            "" if each.cost is None else f"${each.cost:.4f}",
            *([sanitize_text(each.project)] if with_project else []),
            sanitize_text(f"? {each.question}" if each.question else each.title),
        )
        for each in found
    ]
    print_table(columns, rows, ["  ".join(row) for row in rows])


def _describe(each: RunState) -> str:
    if each.state == "ended":
        return each.outcome
    if each.state == "died":
        return "died (resume)"
    return each.state if each.detached else f"{each.state} (terminal)"


def _choose_style(state: str) -> str:
    return "red" if state.startswith("died") else "yellow" if state.startswith("waiting") else "green"
