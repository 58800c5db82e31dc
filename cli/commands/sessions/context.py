"""`patchwright context …`: tuning of compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="How long histories are kept within bounds.", no_args_is_help=True
    )
    group.callback()(_group)
    group.command()(tune)
    app.add_typer(group, name="context")


def _group() -> None:
    """Make `tune` a subcommand although it is the only one."""


def tune(
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FULL:SHORTENED]", help="Ids of two sessions with the same task."),
    ] = None,
    folder: Folder = Path("."),
    model: Annotated[
        str,
        typer.Option("--model", "-m", metavar="NAME", help="Writes the proposal; code does if not given."),
    ] = "",
    window: Annotated[int, typer.Option("--window", min=4000, help="Of the model, in tokens.")] = 128_000,
) -> None:
    """Propose changes to keep more history at less cost.

    With pairs (one succeeded with all of its history, one failed with a shortened one): an edit of the summaries'
    guideline, as a diff. Without: thresholds, tried on this project's sessions. Nothing is changed.
    """
    from cli.commands.sessions.context_tuning import propose_tuning

    raise typer.Exit(propose_tuning(folder, pairs or [], model, window))
