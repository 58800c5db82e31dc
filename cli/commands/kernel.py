"""`patchwright kernel` and `functions`: code in a kernel without a model, and what was kept of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder, Mode, Sandbox, flags_of


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    app.command()(kernel)


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
    """Run blocks of Python as an agent's: sandboxed, bounded, with the tools as functions. Needs no model."""
    from cli.kernel import run_blocks

    flags = flags_of(mode=mode, sandbox=sandbox, shell_timeout=timeout, kernel_memory=memory)
    raise typer.Exit(run_blocks(folder, file, flags, go_on=go_on, as_json=as_json))
