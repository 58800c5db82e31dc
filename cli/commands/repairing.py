"""`patchwright repair`: the offline engine finds a change that mends what tests show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import FailingTests, Folder


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    app.command()(repair)


def repair(
    tests: FailingTests = None,
    folder: Folder = Path("."),
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 5m.")] = "60s",
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show so many changes, best first.")] = 1,
    no_apply: Annotated[bool, typer.Option("--no-apply", help="Show the changes, write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Make failing Python tests pass by small changes.

    Those that break no other test are applied, and how sure they are is said. Needs no model.
    """
    from cli.repair import repair as mend

    raise typer.Exit(mend(folder, tests or [], budget=budget, top=top, apply=not no_apply, as_json=as_json))
