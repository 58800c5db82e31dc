"""`patchwright repair`: the offline engine searches for a change that makes failing tests pass."""

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
    hint: Annotated[
        str, typer.Option("--hint", metavar="WORDS", help='Look there first: "cart.py::total off by one".')
    ] = "",
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to search: 60s, 5m.")] = "60s",
    top: Annotated[int, typer.Option("--top", min=1, max=10, help="Show so many changes, best first.")] = 1,
    apply: Annotated[
        bool | None,
        typer.Option("--apply/--no-apply", help="Write even doubtful changes, or none. [default: sure ones]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Make failing tests pass by small changes, without a model.

    In Python, and less well in Go, JavaScript, TypeScript, Java, Rust and C. Changes that break no other test are
    applied, unless they are so doubtful that they may only fit the tests: those are shown.
    """
    from cli.commands.offline.repair_tests import repair_failing_tests

    found = repair_failing_tests(
        folder, tests or [], hint=hint, budget=budget, top=top, apply=apply, as_json=as_json
    )
    raise typer.Exit(found)
