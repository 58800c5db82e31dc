"""`patchwright doctor`, `demo`, `trust` and `init`: the machine and the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import ApiBase, Folder, Model


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (doctor, demo, trust, init):
        app.command()(each)


def doctor(
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check this machine; report missing parts and how to get them."""
    from cli.commands.setup.doctor import run_doctor

    raise typer.Exit(run_doctor(folder, as_json=as_json))


def demo(
    folder: Annotated[
        Path | None, typer.Option("-C", metavar="DIR", help="Put the example project here, and keep it.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
) -> None:
    """Fix an example project's failing tests while you watch."""
    from cli.commands.setup.demo import run_demo

    raise typer.Exit(run_demo(folder, model=model or "offline", api_base=api_base))


def trust(
    folder: Folder = Path("."),
    list_only: Annotated[
        bool, typer.Option("--list", help="Show it and other trusted ones; trust nothing.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke its trust.")] = False,
) -> None:
    """Let a repository's own hooks and filters run at commits.

    Signing programs too; and let its `patchwright.toml` apply. All of it is shown.
    """
    from cli.commands.setup import trust as trusting

    if list_only and revoke:
        raise typer.BadParameter("--list and --revoke: give one of them")
    act = trusting.show_trust if list_only else trusting.revoke_trust if revoke else trusting.grant_trust
    raise typer.Exit(act(folder))


def init(
    folder: Folder = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing AGENTS.md.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the draft, write nothing.")] = False,
) -> None:
    """Draft an AGENTS.md from the repository's files.

    Commands, layout, conventions.
    """
    from cli.init.agents_file import init_project

    raise typer.Exit(init_project(folder, force=force, show=show))
