"""`patchwright eval vary`: harder, reworded and conversational variants of a suite."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from packages.evaluation.commands.build import Output
from packages.evaluation.commands.evaluation_options import Filters, SuiteFolder


class VariantKind(StrEnum):
    """Kinds of variants."""

    masked = "masked"
    reworded = "reworded"
    changed_mind = "changed-mind"
    withheld = "withheld"
    renamed_tools = "renamed-tools"


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(vary)


def vary(
    suite: SuiteFolder,
    kind: Annotated[
        VariantKind,
        typer.Option(
            "--kind", help="Empty functions, other words, other names of tools, or a user who talks back."
        ),
    ] = VariantKind.reworded,
    output: Output = None,
    level: Annotated[int, typer.Option("--level", min=1, max=50, help="Functions to empty, for masked.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Another one gives other words.")] = 0,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many tasks.")] = None,
    filters: Filters = None,
) -> None:
    """Make a variant of each task, with the same checker.

    masked: bodies of functions are to be written anew; reworded: the same request in other words; changed-mind: the
    user wants a look first, then the change; withheld: the user tells the rest only when asked; renamed-tools: the
    model sees tools and arguments under other names.
    """
    raise typer.Exit(
        vary_suite(suite, kind.value, output, level=level, seed=seed, limit=limit, filters=filters or [])
    )


def vary_suite(
    suite: Path,
    kind: str,
    output: Path | None,
    *,
    level: int,
    seed: int,
    limit: int | None,
    filters: list[str],
) -> int:
    """Write the variants. Returns the exit code. Raises UserError."""
    from packages.evaluation.mining.vary_tasks import vary_tasks
    from packages.evaluation.tasks.suite_folder import load_suite, select_tasks
    from sandbox.sanitize import sanitize_text

    loaded = load_suite(suite)
    place = output or Path(f"{loaded.name}-{kind}")
    tasks = select_tasks(loaded.tasks, filters)
    written, kept, unfit = vary_tasks(tasks, place, kind, level=level, seed=seed, limit=limit)
    already = f", {kept} were there already" if kept else ""
    print(sanitize_text(f"{place}: {len(written)} tasks written{already}"))
    if unfit:
        print(f"  {unfit} left out: they cannot be {kind}")
    return int(Exit.DONE)
