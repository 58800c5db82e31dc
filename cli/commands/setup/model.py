"""`patchwright model`: models that run on this machine: list them, serve a file, end what was started."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.group import ListingGroup


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(model_app, name="model")
    model_app.command("list")(list_)
    model_app.command()(serve)
    model_app.command()(stop)


model_app = typer.Typer(rich_markup_mode=None, help="Models on this machine.", cls=ListingGroup)

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def list_(as_json: AsJson = False) -> None:
    """List model files, the servers that run for them, and other model servers on this machine."""
    from cli.commands.setup.local_models import print_models

    raise typer.Exit(print_models(as_json=as_json))


def serve(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model in a GGUF file.")],
    window: Annotated[
        int, typer.Option("--window", metavar="TOKENS", min=0, help="0: what the memory has room for.")
    ] = 0,
    idle: Annotated[
        float,
        typer.Option("--idle", metavar="MINUTES", min=0, help="End it when unused for so long; 0: never."),
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Start the server of a model's file in the background, confined; prints its address, for other programs, too."""
    from cli.commands.setup.local_models import serve_model

    raise typer.Exit(serve_model(file, window, idle * 60, as_json=as_json))


def stop(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The model's file; all servers if none is given.")
    ] = None,
) -> None:
    """End the servers that were started for model files."""
    from cli.commands.setup.local_models import stop_models

    raise typer.Exit(stop_models(file))
