"""`patchwright commit`, `review` and `pr`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import ApiBase, Folder, Model, collect_flags


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (commit, review, pr):
        app.command()(each)


def commit(
    folder: Folder = Path("."),
    model: Model = None,
    api_base: ApiBase = None,
    show: Annotated[bool, typer.Option("--print", help="Print the message, commit nothing.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", "-e", help="Open the message in your editor first.")
    ] = False,
) -> None:
    """Commit staged changes, with a message in the log's style."""
    from cli.commands.git.commit_review import commit_staged

    raise typer.Exit(
        commit_staged(folder, collect_flags(model=model, api_base=api_base), show=show, edit=edit)
    )


def review(
    target: Annotated[str, typer.Argument(metavar="[COMMIT]", help="A commit to review.")] = "",
    folder: Folder = Path("."),
    base: Annotated[str, typer.Option("--base", metavar="REF", help="This branch's changes since REF.")] = "",
    staged: Annotated[bool, typer.Option("--staged", help="The staged changes.")] = False,
    model: Model = None,
    api_base: ApiBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Review a change, by default all uncommitted changes.

    Checks without a model, and a model's opinion if one is set up.
    """
    from cli.commands.git.commit_review import print_review

    flags = collect_flags(model=model, api_base=api_base)
    raise typer.Exit(print_review(folder, flags, target, base=base, cached=staged, as_json=as_json))


def pr(
    folder: Folder = Path("."),
    base: Annotated[str, typer.Option("--base", metavar="REF", help="Target branch.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Output file; in git's folder if not given.")
    ] = None,
    model: Model = None,
    api_base: ApiBase = None,
) -> None:
    """Draft a pull request's title and description into a file."""
    from cli.commands.git.commit_review import draft_pull_request

    raise typer.Exit(
        draft_pull_request(folder, collect_flags(model=model, api_base=api_base), base=base, out=out)
    )
