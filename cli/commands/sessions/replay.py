"""`patchwright replay`: command-line options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import ApiBase, Folder, Model


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(replay)


def replay(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session.")],
    folder: Folder = Path("."),
    until: Annotated[
        int | None, typer.Option("--until", metavar="STEP", min=1, help="Only up to this call of a model.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
    cassette: Annotated[
        Path | None,
        typer.Option("--cassette", metavar="FILE", help="Record it into a file for --model cassette:FILE."),
    ] = None,
) -> None:
    """Make a session's requests again; compare them with those sent.

    With --model, that model is sent the last of them, and its answer is compared with the one given then.
    """
    from cli.commands.sessions.replay_requests import replay_session

    given = {"model": model, "api_base": api_base}
    flags = {name: value for name, value in given.items() if value is not None}
    raise typer.Exit(
        replay_session(folder, session, until=until, model=model, flags=flags, cassette=cassette)
    )
