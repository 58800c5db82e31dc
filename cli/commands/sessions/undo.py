"""`patchwright undo`, `redo` and `rewind`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.commands.options import Folder

SessionOption = Annotated[
    str, typer.Option("--session", metavar="ID", help="Of this session; found if not given.")
]


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (undo, redo, rewind):
        app.command()(each)


def undo(folder: Folder = Path("."), session: SessionOption = "") -> None:
    """Undo the last turn's changes to files.

    Those of its commands are included; your own changes stay.
    """
    from cli.commands.sessions.undo_files import undo_turn

    raise typer.Exit(undo_turn(folder, session))


def redo(folder: Folder = Path("."), session: SessionOption = "") -> None:
    """Restore the changes that the last undo removed."""
    from cli.commands.sessions.undo_files import redo_turn

    raise typer.Exit(redo_turn(folder, session))


def rewind(
    step: Annotated[
        str, typer.Argument(metavar="[STEP]", help="Its number; without one, the steps are listed.")
    ] = "",
    folder: Folder = Path("."),
    session: SessionOption = "",
    conversation: Annotated[
        bool, typer.Option("--conversation", help="Go back in the conversation; the files stay.")
    ] = False,
    both: Annotated[bool, typer.Option("--both", help="Files and conversation.")] = False,
) -> None:
    """Undo the file changes of a step and of all later ones."""
    from cli.commands.sessions.undo_files import rewind_to_step

    if conversation and both:
        raise typer.BadParameter("--conversation and --both: give one of them")
    what: Literal["files", "conversation", "both"] = (
        "both" if both else "conversation" if conversation else "files"
    )
    raise typer.Exit(rewind_to_step(folder, session, step, what))
