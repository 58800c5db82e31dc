"""The command line: `patchwright` and its subcommands. Imports nothing heavy until a command needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.group import CommandGroup
from cli.commands.options import Flags, Folder, NoCommit, Output, OutputOption, takes_flags
from cli.main_guard import run_guarded
from cli.shell_completion import COMPLETING
from patchwright.version import VERSION

app = typer.Typer(
    name="patchwright",
    cls=CommandGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
@takes_flags
def root(
    *,
    context: typer.Context,
    folder: Folder = Path("."),
    prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", help="Run one prompt, as `run` does.")
    ] = None,
    flags: Annotated[Flags, "model api_base mode sandbox test_command"],
    no_commit: NoCommit = False,
    output: OutputOption = Output.text,
    plain: Annotated[
        bool, typer.Option("--plain", help="Lines only, nothing redrawn (screen readers).")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A coding agent for the command line: edits, tests, commits; with any model, or with none.

    Without a command it opens an interactive session.
    """
    if version:
        print(f"patchwright {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        _refuse_misplaced_option(context)
        return
    if prompt is not None or not sys.stdin.isatty():
        from cli.commands.run.one_shot import run_one_shot

        raise typer.Exit(run_one_shot(folder, prompt, flags, output=output.value, commit=not no_commit))
    flags = {**flags, "plain": True} if plain else flags
    from cli.commands.run.interactive import open_interactive

    raise typer.Exit(open_interactive(folder, flags, session="", commit=not no_commit))


def _refuse_misplaced_option(context: typer.Context) -> None:
    """Raise UserError for an option before the command, which would be lost, and `--mode read-only` with it."""
    from sandbox.errors import Fault, UserError

    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if source is not None and source.name == "COMMANDLINE":
            option, command = each.opts[0], context.invoked_subcommand
            raise UserError(
                Fault.USAGE,
                f"{option} stands before the command {command!r}, where it has no effect",
                f"Put it after: patchwright {command} {option} …",
            )


def main() -> None:
    """Entry point, see `run_guarded`."""
    if COMPLETING in os.environ:  # the shell asks for completions
        from typer._completion_classes import (
            completion_init,  # typer calls it only for its own completion option
        )

        completion_init()
    run_guarded(lambda: app(prog_name="patchwright"))
