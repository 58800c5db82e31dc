"""`patchwright pr`: draft a pull request from a branch's commits, with or without a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, takes_flags
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text


def add(app: typer.Typer) -> None:
    """Add the command and those below it to the program's."""
    from cli.commands.git import hosted_request

    group = typer.Typer(rich_markup_mode=None, invoke_without_command=True, help=pr.__doc__)
    group.callback()(pr)
    hosted_request.add(group)
    app.add_typer(group, name="pr")


@takes_flags
def pr(
    *,
    context: typer.Context,
    folder: Folder = Path("."),
    base: Annotated[str, typer.Option("--base", metavar="REF", help="Target branch.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Output file; in git's folder if not given.")
    ] = None,
    flags: Annotated[Flags, "model api_base"],
) -> None:
    """Draft a pull request into a file; also open, update, answer."""
    if context.invoked_subcommand is not None:
        return
    raise typer.Exit(draft_pull_request(folder, flags, base=base, out=out))


def draft_pull_request(folder: Path, flags: Mapping[str, Any], *, base: str, out: Path | None) -> int:
    """Draft the title and the body of a pull request into a file, and print its path."""
    from cli.commands.git.request_draft import compose_draft, find_default_base
    from sandbox.secrets.child_environment import redact
    from tools.git.git_process import Git

    git = Git.from_folder(folder)
    draft = compose_draft(git, flags, base or find_default_base(git))
    if draft is None:
        return int(Exit.NOTHING_TO_DO)
    place = out or Path(git.root, git.run_text("rev-parse", "--git-path", "patchwright-pr.md"))
    try:
        place.write_text(redact(draft).rstrip() + "\n", "utf-8")
    except OSError as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(place)!r}: {error.strerror}") from None
    print(sanitize_text(str(place)))
    return int(Exit.DONE)
