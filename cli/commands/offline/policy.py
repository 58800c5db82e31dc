"""`patchwright policy`: what a command would do, and whether it may."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import ApprovalOption, Folder, Mode, Sandbox, collect_flags


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(policy_app, name="policy")
    policy_app.command()(check)


policy_app = typer.Typer(
    rich_markup_mode=None, help="What the policy says to a command.", no_args_is_help=True
)


def check(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="A shell command, as one argument.")],
    folder: Folder = Path("."),
    mode: Mode = None,
    sandbox: Sandbox = None,
    approval: Annotated[
        ApprovalOption | None,
        typer.Option("--approval", help="Who would be asked; as in a session if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Explain what a command would do and whether it may.

    It is not run. Exit 0 if it may, 5 if not unasked.
    """
    from cli.commands.offline.policy_check import explain_command

    flags = collect_flags(mode=mode, sandbox=sandbox, approval=approval)
    raise typer.Exit(explain_command(folder, command, flags, as_json=as_json))
