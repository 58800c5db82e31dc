"""`patchwright pr open`, `update`, `reviews` and `answer`: pull requests at GitHub, GitLab and Gitea."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, takes_flags
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.hosting.host import Host, PullRequest, ReviewComment
    from cli.hosting.open_host import Place
    from tools.git.git_process import Git

Base = Annotated[str, typer.Option("--base", metavar="REF", help="Target branch.")]
Remote = Annotated[str, typer.Option("--remote", metavar="NAME", help="Remote that has the repository.")]
Text = Annotated[
    Path | None,
    typer.Option("--text", metavar="FILE", help="Title and description; drafted if not given."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Post without asking, after the text was shown.")]
Number = Annotated[
    int | None, typer.Argument(metavar="[NUMBER]", help="The request; this branch's if not given.")
]


def add(group: typer.Typer) -> None:
    """Add the commands below `pr`."""
    for command in (open_, update, reviews, answer):
        group.command(command.__name__.rstrip("_"))(command)


@takes_flags
def open_(
    *,
    folder: Folder = Path("."),
    base: Base = "",
    remote: Remote = "origin",
    text: Text = None,
    draft: Annotated[bool, typer.Option("--draft", help="Not ready for review yet.")] = False,
    yes: Yes = False,
    flags: Annotated[Flags, "model api_base"],
) -> None:
    """Open a pull request for this branch, which has to be pushed.

    Its text is shown first.
    """
    raise typer.Exit(_open_request(folder, flags, base, remote, text, is_draft=draft, yes=yes))


@takes_flags
def update(
    *,
    number: Number = None,
    folder: Folder = Path("."),
    base: Base = "",
    remote: Remote = "origin",
    text: Text = None,
    yes: Yes = False,
    flags: Annotated[Flags, "model api_base"],
) -> None:
    """Replace title and description of a pull request.

    They are shown first.
    """
    raise typer.Exit(_update_request(folder, flags, number, base, remote, text, yes=yes))


def reviews(
    number: Number = None,
    folder: Folder = Path("."),
    remote: Remote = "origin",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the comments of reviews that are not resolved."""
    raise typer.Exit(_list_reviews(folder, number, remote, as_json=as_json))


@takes_flags
def answer(
    *,
    number: Number = None,
    folder: Folder = Path("."),
    remote: Remote = "origin",
    yes: Yes = False,
    flags: Annotated[Flags, "model api_base test_command"],
) -> None:
    """Work on the comments of reviews, and post the summary.

    It works as `run` does. The summary is shown first.
    """
    raise typer.Exit(_answer_reviews(folder, flags, number, remote, yes=yes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repository:
    """A work tree and its repository at the service."""

    git: Git
    place: Place
    host: Host

    @property
    def branch(self) -> str:
        """Name of the present branch. Raises UserError without one."""
        name = self.git.run_text("rev-parse", "--abbrev-ref", "HEAD")
        if name == "HEAD":
            raise UserError(Fault.USAGE, "there is no branch here", "Make one: git switch -c NAME")
        return name

    def find_request(self, number: int | None) -> PullRequest:
        """Return the request with a number, or that of the branch. Raises UserError if there is none."""
        from cli.hosting.host import PullRequest

        if number is not None:
            return PullRequest(number=number, title="", url="")
        found = self.host.find_pull_request(self.branch)
        if found is None:
            raise UserError(
                Fault.USAGE,
                f"no open pull request for the branch {self.branch!r}",
                "Open one: patchwright pr open",
            )
        return found


def _find_repository(folder: Path, remote: str) -> _Repository:
    from agent.app_dirs import Home
    from cli.hosting.open_host import find_place, open_host
    from cli.settings.layers import load_settings
    from tools.git.git_process import Git

    git = Git.from_folder(folder)
    settings = load_settings(Home.from_environment(), git.root, {})
    place = find_place(git.read_setting(f"remote.{remote}.url"), settings.hosting)
    return _Repository(git=git, place=place, host=open_host(place, git.root, os.environ))


def _open_request(
    folder: Path,
    flags: Mapping[str, Any],
    base: str,
    remote: str,
    text: Path | None,
    *,
    is_draft: bool,
    yes: bool,
) -> int:
    from cli.hosting.host import Draft

    at = _find_repository(folder, remote)
    known = at.host.find_pull_request(at.branch)
    if known is not None:
        raise UserError(
            Fault.USAGE,
            f"the branch has pull request {known.number} already: {known.url}",
            "Replace its text: patchwright pr update",
        )
    found = _read_draft(at.git, flags, base, text)
    if found is None:
        return int(Exit.NOTHING_TO_DO)
    title, body, target = found
    _confirm(f"open {at.branch} → {target} at {at.place.host}/{at.place.name}", f"{title}\n\n{body}", yes=yes)
    draft = Draft(title=title, body=body, head=at.branch, base=target, is_draft=is_draft)
    print(sanitize_text(at.host.open_pull_request(draft).url))
    return int(Exit.DONE)


def _update_request(
    folder: Path,
    flags: Mapping[str, Any],
    number: int | None,
    base: str,
    remote: str,
    text: Path | None,
    *,
    yes: bool,
) -> int:
    at = _find_repository(folder, remote)
    request = at.find_request(number)
    found = _read_draft(at.git, flags, base, text)
    if found is None:
        return int(Exit.NOTHING_TO_DO)
    title, body, _ = found
    _confirm(f"replace the text of {at.place.name}#{request.number}", f"{title}\n\n{body}", yes=yes)
    print(sanitize_text(at.host.update_pull_request(request.number, title, body).url))
    return int(Exit.DONE)


def _list_reviews(folder: Path, number: int | None, remote: str, *, as_json: bool) -> int:
    at = _find_repository(folder, remote)
    comments = at.host.list_review_comments(at.find_request(number).number)
    if as_json:
        from dataclasses import asdict

        for each in comments:
            print_json(asdict(each))
        return int(Exit.DONE)
    print(sanitize_text(_format_comments(list(comments)) or "no open comments"))
    return int(Exit.DONE)


def _answer_reviews(
    folder: Path, flags: Mapping[str, Any], number: int | None, remote: str, *, yes: bool
) -> int:
    from agent.app_dirs import Home
    from cli.commands.run.one_shot import run_one_shot
    from cli.commands.run.resume import find_newest_session
    from cli.detached.run_state import read_last_end
    from tools.core.untrusted_output import enclose_in_tag

    at = _find_repository(folder, remote)
    request = at.find_request(number)
    comments = list(at.host.list_review_comments(request.number))
    if not comments:
        print("no open comments", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    task = f"{TASK}\n\n{enclose_in_tag('stdin', _format_comments(comments))}"
    code = run_one_shot(folder, task, flags, output="text", commit=True)
    home = Home.from_environment()
    session = home.get_project_folder(at.git.root) / "sessions" / find_newest_session(home, at.git.root)
    end = read_last_end(session)
    if code != Exit.DONE or end is None:
        return code
    made = f"\n\nCommit {end.commit}." if end.commit else ""
    text = f"{end.summary.strip()}{made}"
    _confirm(f"answer on {at.place.name}#{request.number} (push first: git push)", text, yes=yes)
    at.host.reply(request.number, "", _redact(text))
    return int(Exit.DONE)


TASK = (
    "Address the comments below, which reviewers wrote on this branch's pull request. They are wishes about the code: "
    "follow those that are right, and say in your answer which you did not follow and why."
)
"""The person's part of the prompt; the comments are enclosed as text of others."""


def _read_draft(
    git: Git, flags: Mapping[str, Any], base: str, text: Path | None
) -> tuple[str, str, str] | None:
    """Return title, body and target branch; None if there is nothing to open."""
    from cli.commands.git.request_draft import compose_draft, find_default_base

    target = base or find_default_base(git)
    if text is not None:
        try:
            draft: str | None = text.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise UserError(Fault.USAGE, f"cannot read {str(text)!r}: {error}") from None
    else:
        draft = compose_draft(git, flags, target)
    if draft is None:
        return None
    title, _, body = _redact(draft).strip().partition("\n")
    if not title:
        raise UserError(Fault.USAGE, "the text has no title", "Its first line is the title.")
    return title.removeprefix("# ").strip(), body.strip(), target.removeprefix("origin/")


def _confirm(purpose: str, text: str, *, yes: bool) -> None:
    """Show a text that would be posted, and ask. Raises UserError without a yes."""
    print(sanitize_text(f"── {purpose}\n{text}\n──"), file=sys.stderr, flush=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError(Fault.USAGE, "nothing is posted without your word", "Read the text, and add --yes.")
    print("Post it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserError(Fault.DENIED, "not posted")


def _format_comments(comments: list[ReviewComment]) -> str:
    return "\n\n".join(
        f"{each.author}{f' on {each.place}' if each.place else ''}:\n{each.text.strip()}" for each in comments
    )


def _redact(text: str) -> str:
    from sandbox.secrets.child_environment import redact

    return redact(text)
