"""`patchwright kernel` and `functions`: run code in a kernel without a model; manage saved functions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder, Mode, Sandbox, collect_flags


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    app.command()(kernel)
    kept = typer.Typer(
        rich_markup_mode=None, help="Functions kept from earlier sessions.", no_args_is_help=True
    )
    app.add_typer(kept, name="functions")
    kept.command("list")(functions_list)
    kept.command("show")(functions_show)
    kept.command("verify")(functions_verify)
    kept.command("remove")(functions_remove)


def kernel(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Python with `# %%` between the blocks, or Markdown; `-` reads standard input.",
        ),
    ],
    folder: Folder = Path("."),
    mode: Mode = None,
    sandbox: Sandbox = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1, help="Seconds for each block.")] = None,
    memory: Annotated[int | None, typer.Option("--memory", min=64, help="MiB for the kernel.")] = None,
    go_on: Annotated[bool, typer.Option("--keep-going", help="Go on after a block that fails.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Run blocks of Python as an agent's.

    Sandboxed, bounded, with the tools as functions. Needs no model.
    """
    from cli.commands.offline.kernel_script import run_blocks

    flags = collect_flags(mode=mode, sandbox=sandbox, shell_timeout=timeout, kernel_memory=memory)
    raise typer.Exit(run_blocks(folder, file, flags, go_on=go_on, as_json=as_json))


def functions_list(
    query: Annotated[
        str, typer.Argument(metavar="[WORDS]", help="Only those in which all words occur.")
    ] = "",
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List or search the functions of this project and its user."""
    from cli.commands.offline.kept_functions import list_functions

    raise typer.Exit(list_functions(folder, query, as_json=as_json))


def functions_show(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    folder: Folder = Path("."),
) -> None:
    """Show the source of a function and of its test."""
    from cli.commands.offline.kept_functions import show_function

    raise typer.Exit(show_function(folder, name))


def functions_verify(
    folder: Folder = Path("."),
    sandbox: Sandbox = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Run the tests of all functions again.

    One that fails is not offered until it passes. Exit 1 if one fails.
    """
    from cli.commands.offline.kept_functions import verify_functions

    raise typer.Exit(verify_functions(folder, collect_flags(sandbox=sandbox), as_json=as_json))


def functions_remove(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    folder: Folder = Path("."),
) -> None:
    """Keep a function no longer."""
    from cli.commands.offline.kept_functions import remove_function

    raise typer.Exit(remove_function(folder, name))
