"""`patchwright prepare`: what a session would find out first, found out ahead of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from cli.output.standard_streams import print_json
from sandbox.sanitize import sanitize_text


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(prepare)


def prepare(
    folder: Folder = Path("."),
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="CPU after which no further part is begun.")
    ] = 60.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Index a repository and its history ahead of the next session.

    Commands, modules and likely next tasks are shown. Nothing of the repository is run; each commit is prepared once.
    """
    from dataclasses import asdict

    from cli.settings.layers import load_settings
    from packages.setup.prepare.preparation import format_preparation, prepare_repository
    from sandbox.policy.foreign_stores import refuse_foreign_stores

    root, _ = find_workspace_root(folder, need_git=True, without="")
    refuse_foreign_stores(root)
    home = Home.from_environment()
    remembers = load_settings(home, root, {}).session.memory.enabled
    found, was_known = prepare_repository(root, home, seconds=seconds, remembers=remembers)
    if as_json:
        print_json({**asdict(found), "known": was_known})
    elif not quiet:
        for line in format_preparation(found, was_known=was_known):
            print(sanitize_text(line))
