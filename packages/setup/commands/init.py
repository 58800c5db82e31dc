"""`patchwright init`: draft an AGENTS.md from the repository's files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent.workspace_root import find_workspace_root
from cli.commands.options import Folder
from sandbox.sanitize import sanitize_text


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(init)


def init(
    folder: Folder = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing AGENTS.md.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the draft, write nothing.")] = False,
) -> None:
    """Draft an AGENTS.md from the repository's files.

    Commands, layout, conventions.
    """
    raise typer.Exit(init_project(folder, force=force, show=show))


def init_project(folder: Path, *, force: bool, show: bool) -> int:
    """Write the draft into the repository around `folder`, or print it. Raises UserError."""
    from packages.setup.init.agents_file import build_draft, write_draft
    from sandbox.policy.foreign_stores import refuse_foreign_stores

    root, _ = find_workspace_root(folder, need_git=False)
    refuse_foreign_stores(root)
    if show:
        sys.stdout.write(build_draft(root))
        return 0
    path = write_draft(root, force=force)
    print(
        f"{sanitize_text(str(path))} is a draft: read it, correct it, fill in what is marked, and commit it."
    )
    return 0
