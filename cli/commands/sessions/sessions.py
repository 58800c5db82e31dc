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
            metavar="[triage|stats|tasks|feedback|compare ID ID…|import AGENT [FILE]]",
            help="Which are worth reading; figures by week and model, or by kind of task; behaviors that people noted;"
            " where runs of one task part; take over those of claude, codex, gemini or opencode about this folder, or"
            " one log; atif: a trajectory.",
        ),
    ] = None,
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Sessions of every project.")] = False,
    flat: Annotated[
        bool, typer.Option("--flat", help="By time alone, not children below the session that started them.")
    ] = False,
    page: Annotated[
        str, typer.Option("--page", metavar="FILE", help="stats: as a web page, a new file, with plots.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the sessions of this project, the newest first.

    Sessions that a session started are shown below it.
    """
    if page:
        if words != ["stats"] or as_json:
            raise typer.BadParameter("--page FILE is for: sessions stats, without --json")
        raise typer.Exit(write_figures_page(folder, page, all_projects=all_projects))
    if words and len(words) == 1 and words[0] in _REPORTS:
        raise typer.Exit(_REPORTS[words[0]](folder, all_projects=all_projects, as_json=as_json))
    if words and words[0] == "compare":
        from sandbox.extensions import load_extension

        raise typer.Exit(load_extension("reports", "comparison")(folder, words[1:], as_json=as_json))
    if words:
        if words[0] != "import" or len(words) not in (2, 3):
            raise typer.BadParameter(
                "it is: sessions triage|stats|tasks|feedback, compare ID ID…, or import"
                " claude|codex|gemini|opencode|atif [FILE]"
            )
        raise typer.Exit(import_foreign_sessions(folder, *words[1:], as_json=as_json))
    raise typer.Exit(list_sessions(folder, all_projects=all_projects, flat=flat, as_json=as_json))


def list_sessions(folder: Path, *, all_projects: bool, flat: bool, as_json: bool) -> int:
    """Print the sessions of a project (or of all), as a tree or by time alone."""
    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    from agent.session.session_index import load_session_summaries
    from agent.session.session_tree import arrange_tree

    found = load_session_summaries(Home.from_environment(), root)
    shown = found if as_json else [each for each in found if not each.is_empty]
    tree = [(0, each) for each in shown] if flat else arrange_tree(shown)
    if as_json:
        from dataclasses import asdict

        for _, each in tree:
            print_json({**asdict(each), "path": str(each.path)})
        return 0
    if not shown:
        print("no sessions yet" if root is None else sanitize_text(f"no sessions in {root}"), file=sys.stderr)
    _print_tree(tree, with_project=all_projects)
    return 0


def print_triage(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print the sessions that are worth reading, each with the reasons."""
    from dataclasses import asdict

    from sandbox.extensions import load_extension

    found = load_extension("reports", "triage")(_load_summaries(folder, all_projects=all_projects))
    for each in found:
        if as_json:
            print_json(asdict(each))
            continue
        print(sanitize_text(f"{each.id}  {each.weight:.1f}  {each.title}"))
        for reason in each.reasons:
            print(sanitize_text(f"  {reason}"))
    if not found:
        print("no session stands out", file=sys.stderr)
    return 0


def print_figures(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print figures of the sessions by week and model."""
    return _print_figures(folder, "week", all_projects=all_projects, as_json=as_json)


def print_tasks(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print figures of the sessions by kind of task and model: those from which the strategy `auto` learns."""
    return _print_figures(folder, "task", all_projects=all_projects, as_json=as_json)


def _print_figures(folder: Path, key: str, *, all_projects: bool, as_json: bool) -> int:
    from cli.output.amounts import format_money
    from cli.output.style.terminal import Terminal
    from cli.output.tables import Column, print_table
    from sandbox.extensions import load_extension

    summaries = _load_summaries(folder, all_projects=all_projects)
    report = "session_figures" if key == "week" else "task_figures"
    found = load_extension("reports", report)(summaries)
    if as_json:
        for each in found:
            print_json(each)
        return 0
    rows = [
        (
            each[key],
            sanitize_text(each["model"]),
            str(each["sessions"]),
            f"{each['done'] / each['sessions']:.0%}",
            f"{each['steps']:g}",
            f"{each['minutes']:g}",
            "" if each["cost"] is None else format_money(each["cost"]),
        )
        for each in found
    ]
    titles = (key, "model", "sessions", "done", "steps", "minutes", "cost")
    columns = [Column(title=title, right=place > 1, wraps=place == 1) for place, title in enumerate(titles)]
    lines = [
        "  ".join(
            f"{title} {cell}" if place > 1 else cell
            for place, (title, cell) in enumerate(zip(titles, row, strict=True))
            if cell
        )
        for row in rows
    ]
    print_table(columns, rows, lines)
    terminal = Terminal.from_stream(sys.stdout)
    if key == "week" and sys.stdout.isatty():
        for line in load_extension("reports", "figure_plots")(
            load_extension("reports", "session_figures")(summaries, ("week", "model", "task")),
            terminal.columns,
            unicode=terminal.unicode,
        ):
            print(sanitize_text(line))
    if key == "week" and (behaviors := load_extension("reports", "behaviors")(summaries)):
        print("\nwhat people noted")
        for line in load_extension("reports", "behavior_lines")(behaviors):
            print(sanitize_text(f"  {line}"))
    return 0


def write_figures_page(folder: Path, page: str, *, all_projects: bool) -> int:
    """Write figures of the sessions by kind of task, model and week to a page with plots."""
    from sandbox.extensions import load_extension

    summaries = _load_summaries(folder, all_projects=all_projects)
    behaviors = load_extension("reports", "behaviors")(summaries)
    return int(load_extension("reports", "figures_page")(summaries, behaviors, page))


def print_behaviors(folder: Path, *, all_projects: bool, as_json: bool) -> int:
    """Print the behaviors that people noted on steps."""
    from sandbox.extensions import load_extension

    found = load_extension("reports", "behaviors")(_load_summaries(folder, all_projects=all_projects))
    for each in found if as_json else ():
        print_json(each)
    for line in () if as_json else load_extension("reports", "behavior_lines")(found):
        print(sanitize_text(line))
    if not found:
        print("no feedback yet: patchwright session feedback ID [STEP] good|bad TEXT", file=sys.stderr)
    return 0


_REPORTS = {"triage": print_triage, "stats": print_figures, "tasks": print_tasks, "feedback": print_behaviors}


def _load_summaries(folder: Path, *, all_projects: bool) -> Sequence[SessionSummary]:
    from agent.session.session_index import load_session_summaries

    root = None if all_projects else find_workspace_root(folder, need_git=False)[0]
    return load_session_summaries(Home.from_environment(), root)


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
