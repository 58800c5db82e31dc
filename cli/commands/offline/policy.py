"""`patchwright policy`: effects of a command, and the policy's verdict on it."""

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
    rich_markup_mode=None, help="Check a command against the policy.", no_args_is_help=True
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
    """Explain a command's effects and whether it is allowed.

    It is not run. Exit 0 if allowed without approval, 5 if not.
    """
    from cli.commands.offline.policy_check import explain_command

    flags = collect_flags(mode=mode, sandbox=sandbox, approval=approval)
    raise typer.Exit(explain_command(folder, command, flags, as_json=as_json))
