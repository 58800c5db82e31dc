"""`patchwright apply`: edits from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import EditFormat, Folder


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (apply,):
        app.command()(each)


def apply(
    patch: Annotated[
        str, typer.Argument(metavar="FILE", help="File with the edits; `-` reads standard input.")
    ],
    folder: Folder = Path("."),
    check: Annotated[bool, typer.Option("--check", help="Say what would happen, write nothing.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Only edits that fit to the letter.")] = False,
    form: Annotated[
        EditFormat, typer.Option("--format", help="Format of the edits; found out if not given.")
    ] = EditFormat.auto,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Apply edits to the files of a folder: all of them, or none. Needs no model and no repository.

    Formats: SEARCH/REPLACE blocks, *** Begin Patch, unified diff.
    """
    from cli.commands.offline.apply_edits import apply_edits

    raise typer.Exit(apply_edits(folder, patch, form=form.value, check=check, exact=exact, as_json=as_json))
