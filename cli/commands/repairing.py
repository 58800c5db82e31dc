"""Commands of the offline engine: where is the fault, and a change that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder

Tests = Annotated[
    list[str] | None,
    typer.Option("--tests", metavar="TEST", help="Failing test id, file or folder; repeatable."),
]


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    for each in (localize, repair):
        app.command()(each)


def localize(
    tests: Tests = None,
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Rank the lines most likely to be at fault for failing Python tests. Needs no model; changes nothing."""
    from cli.repair import localize as rank

    raise typer.Exit(rank(folder, tests or [], as_json=as_json))


def repair(
    tests: Tests = None,
    folder: Folder = Path("."),
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 5m.")] = "60s",
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show so many changes, best first.")] = 1,
    no_apply: Annotated[bool, typer.Option("--no-apply", help="Show the changes, write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Find small changes that make failing Python tests pass and break none, and apply them. Needs no model."""
    from cli.repair import repair as mend

    raise typer.Exit(mend(folder, tests or [], budget=budget, top=top, apply=not no_apply, as_json=as_json))
