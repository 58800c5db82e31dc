"""`patchwright session …`: find, copy, name, move and remove sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder

Id = Annotated[
    str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
]


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None, help="Find, copy, name and remove sessions.", no_args_is_help=True
    )
    group.command()(search)
    group.command()(fork)
    group.command()(title)
    group.command()(export)
    group.command("import")(import_)
    group.command()(prune)
    app.add_typer(group, name="session")


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="All of them have to occur.")],
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many matches.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """Search prompts, actions and outputs of sessions, best first."""
    from cli.commands.sessions.session_actions import search_sessions

    raise typer.Exit(
        search_sessions(folder, " ".join(words), all_projects=all_projects, limit=limit, as_json=as_json)
    )


def fork(
    session: Id = "",
    at: Annotated[
        str,
        typer.Option("--at", metavar="EVENT", help="Only up to this event (e12); to the end if not given."),
    ] = "",
    folder: Folder = Path("."),
) -> None:
    """Start a new session with the history of another.

    Its id is printed; the other stays as it is.
    """
    from cli.commands.sessions.session_actions import fork_session

    raise typer.Exit(fork_session(folder, session, at))


def title(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session.")],
    text: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    folder: Folder = Path("."),
) -> None:
    """Give a session a title."""
    from cli.commands.sessions.session_actions import rename_session

    raise typer.Exit(rename_session(folder, session, text))


def export(
    session: Id = "",
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="A new file; standard output if not given.")
    ] = "-",
    folder: Folder = Path("."),
) -> None:
    """Write a session, every output whole, as JSON lines."""
    from cli.commands.sessions.session_actions import write_export

    raise typer.Exit(write_export(folder, session, to))


def import_(
    source: Annotated[str, typer.Argument(metavar="FILE", help="An export; `-` reads standard input.")],
    folder: Folder = Path("."),
) -> None:
    """Take an exported session into this project; print its id."""
    from cli.commands.sessions.session_actions import import_session

    raise typer.Exit(import_session(folder, source))


def prune(
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", metavar="DAYS", min=0, help="Not touched for so many days."),
    ] = None,
    keep: Annotated[
        float | None, typer.Option("--keep", metavar="MB", min=0, help="The oldest beyond this size in all.")
    ] = None,
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list sessions to remove.")] = False,
) -> None:
    """Remove old sessions; never one that is open."""
    from cli.commands.sessions.session_actions import prune_sessions

    if older_than is None and keep is None:
        raise typer.BadParameter("say which: --older-than DAYS, --keep MB, or both")
    raise typer.Exit(prune_sessions(folder, older_than, keep, all_projects=all_projects, dry=dry_run))
