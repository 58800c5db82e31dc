"""`patchwright eval compose`: chain the tasks of a suite to longer ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from packages.evaluation.commands.build import Output
from packages.evaluation.commands.evaluation_options import Filters, SuiteFolder


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(compose)


def compose(
    suite: SuiteFolder,
    output: Output = None,
    length: Annotated[int, typer.Option("--length", min=2, max=8, help="Parts of each new task.")] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many tasks.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Another one draws other chains.")] = 0,
    filters: Filters = None,
) -> None:
    """Chain tasks to longer ones: a knob for difficulty. A part that is solved alone gives partial credit."""
    raise typer.Exit(
        compose_suite(suite, output, length=length, limit=limit, seed=seed, filters=filters or [])
    )


def compose_suite(
    suite: Path, output: Path | None, *, length: int, limit: int, seed: int, filters: list[str]
) -> int:
    """Write the chains. Returns the exit code. Raises UserError."""
    from packages.evaluation.mining.compose_tasks import compose_tasks
    from packages.evaluation.tasks.suite_folder import load_suite, select_tasks
    from sandbox.sanitize import sanitize_text

    loaded = load_suite(suite)
    place = output or Path(f"{loaded.name}-chains")
    tasks = select_tasks(loaded.tasks, filters)
    written, kept = compose_tasks(tasks, place, length=length, limit=limit, seed=seed)
    already = f", {kept} were there already" if kept else ""
    print(sanitize_text(f"{place}: {len(written)} tasks of {length} parts written{already}"))
    return int(Exit.DONE)
