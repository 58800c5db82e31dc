"""`patchwright hook`: the program as a git hook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.group import ListingGroup
from cli.commands.options import Folder

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME]…", help="pre-commit, prepare-commit-msg, commit-msg, pre-push, post-merge."
    ),
]


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    hooks = typer.Typer(
        rich_markup_mode=None,
        cls=ListingGroup,
        help="Git hooks: check commits and messages, test pushed commits.",
    )
    for each in (install, uninstall, status):
        hooks.command()(each)
    hooks.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run)
    app.add_typer(hooks, name="hook")


def install(
    names: Names = None,
    folder: Folder = Path("."),
    fix: Annotated[
        str,
        typer.Option(
            "--fix", metavar="MODEL", help="pre-push: let it repair what fails; `offline` needs no model."
        ),
    ] = "",
    review: Annotated[
        str, typer.Option("--review", metavar="MODEL", help="pre-commit: print its opinion as well.")
    ] = "",
    prepare: Annotated[
        bool, typer.Option("--prepare", help="post-merge: prepare the new commit, in the background.")
    ] = False,
    missing: Annotated[
        str,
        typer.Option(
            "--missing", metavar="pass|fail", help="If the hook does not find the program: warn, or refuse."
        ),
    ] = "pass",
) -> None:
    """Install hooks beside existing ones.

    Those of other managers (husky, lefthook, pre-commit) stay. Without names: the three quick ones.
    """
    from cli.hooks.install import install_hooks
    from cli.hooks.kept_trust import keep_trust

    options = {
        "pre-push": (f"--fix={fix}",) if fix else (),
        "pre-commit": (f"--review={review}",) if review else (),
        "post-merge": ("--prepare",) if prepare else (),
    }
    with keep_trust(folder):
        code = install_hooks(folder, names or (), options, missing)
    raise typer.Exit(code)


def uninstall(names: Names = None, folder: Folder = Path(".")) -> None:
    """Remove our hooks and restore the previous ones."""
    from cli.hooks.install import uninstall_hooks
    from cli.hooks.kept_trust import keep_trust

    with keep_trust(folder):
        code = uninstall_hooks(folder, names or ())
    raise typer.Exit(code)


def status(folder: Folder = Path(".")) -> None:
    """Say which hooks are installed."""
    from cli.hooks.install import print_hook_status

    raise typer.Exit(print_hook_status(folder))


def run(context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Run one hook with git's arguments; git calls this."""
    from cli.hooks.entry import main

    raise typer.Exit(main([name, *context.args]))
