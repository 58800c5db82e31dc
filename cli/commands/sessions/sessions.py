"""`patchwright sessions`: list the sessions of a project."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.session.session_index import SessionSummary


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(sessions)


def sessions(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[import AGENT [FILE]]",
            help="Take over the sessions of claude, codex, gemini or opencode about this folder, or one log.",
        ),
    ] = None,
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Sessions of every project.")] = False,
    flat: Annotated[
        bool, typer.Option("--flat", help="By time alone, not children below the session that started them.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the sessions of this project, the newest first.

    Sessions that a session started are shown below it.
    """
    if words:
        if words[0] != "import" or len(words) not in (2, 3):
            raise typer.BadParameter("it is: sessions import claude|codex|gemini|opencode [FILE]")
        raise typer.Exit(import_foreign_sessions(folder, *words[1:], as_json=as_json))
    raise typer.Exit(list_sessions(folder, all_projects=all_projects, flat=flat, as_json=as_json))


def list_sessions(folder: Path, *, all_projects: bool, flat: bool, as_json: bool) -> int:
    """Print the sessions of a project (or of all), as a tree or by time alone."""
    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    from agent.session.session_index import load_session_summaries
    from agent.session.session_tree import arrange_tree

    found = load_session_summaries(Home.from_environment(), root)
    tree = [(0, each) for each in found] if flat else arrange_tree(found)
    if as_json:
        from dataclasses import asdict

        for _, each in tree:
            print_json({**asdict(each), "path": str(each.path)})
        return 0
    if not found:
        print("no sessions yet" if root is None else sanitize_text(f"no sessions in {root}"), file=sys.stderr)
    _print_tree(tree, with_project=all_projects)
    return 0


def import_foreign_sessions(folder: Path, agent: str, source: str = "", *, as_json: bool) -> int:
    """Take over the sessions of another agent; print each id, and what of it was not kept."""
    from dataclasses import asdict

    from sandbox.extensions import load_extension

    root, _ = find_workspace_root(folder, need_git=False)
    count = 0
    for each in load_extension("importers", "sessions")(Home.from_environment(), root, agent, source):
        count += 1
        if as_json:
            print_json(asdict(each))
            continue
        print(each.id)
        left = f"; not kept: {each.left}" if each.left else ""
        print(sanitize_text(f"  {each.prompts} prompts, {each.actions} actions{left}"), file=sys.stderr)
    if not count:
        print(sanitize_text(f"no session of {agent} about {root} that is not here yet"), file=sys.stderr)
    return 0


def _print_tree(tree: Sequence[tuple[int, SessionSummary]], *, with_project: bool) -> None:
    from cli.output.tables import Column, print_table

    lines = ["  " * depth + format_session_line(each, with_project=with_project) for depth, each in tree]
    columns = [
        Column(title="session"),
        Column(title="last used", style=lambda text: "dim"),
        Column(title="outcome", style=lambda text: "green" if text == "done" else "yellow"),
        Column(title="steps", right=True),
        Column(title="cost", right=True),
        *([Column(title="project", wraps=True)] if with_project else []),
        Column(title="title", wraps=True),
    ]
    rows = [
        (
            "  " * depth + each.id,
            _format_time(each),
            sanitize_text(each.outcome),
            str(each.steps),
            "" if each.cost is None else f"${each.cost:.4f}",
            *([sanitize_text(str(each.project))] if with_project else []),
            sanitize_text(each.title),
        )
        for depth, each in tree
    ]
    print_table(columns, rows, lines)


def _format_time(summary: SessionSummary) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.updated))


def format_session_line(summary: SessionSummary, *, with_project: bool = False) -> str:
    """Format a session on one line: id, time, outcome, steps, cost, title."""
    cost = "" if summary.cost is None else f"  ${summary.cost:.4f}"
    where = f"  {summary.project}" if with_project else ""
    steps = f"{summary.steps} step{'' if summary.steps == 1 else 's'}"
    return sanitize_text(
        f"{summary.id}  {_format_time(summary)}  {summary.outcome:<12}  {steps:>9}{cost}{where}  {summary.title}"
    )
