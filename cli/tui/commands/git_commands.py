"""/commit, /review and /hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def commit(chat: Conversation, argument: str) -> None:
    """Commit the changes of this session, and none of the user's."""
    from cli.tui.questions.signing_trust import offer_signing_trust

    if chat.runtime.toolbox.get("git_commit") is None:
        hint = "It was begun with --no-commit, or reads only. Your own git does it: !git commit -a"
        raise UserError(Fault.USAGE, "this session makes no commits", hint)
    made = await chat.runtime.committer.commit_now()
    if made is None:
        chat.show_message("nothing to commit: this session has changed no file")
    else:
        chat.show_message(made.text, "yellow" if made.failed else None)
        await offer_signing_trust(chat)


async def review(chat: Conversation, argument: str) -> None:
    """Review the uncommitted changes, or a commit."""
    from agent.model.routing.roles import Role
    from cli.commands.git.change_review import check_change
    from cli.commands.git.model_text import LONGEST, PATIENCE

    found = await asyncio.to_thread(check_change, chat.runtime.workspace.root, argument)
    if found is None:
        chat.show_message("nothing to review: all is committed")
        return
    review, asked = found
    chat.view.show_note(review.format_text())
    # The session's own models and servers, within its limits.
    side = chat.runtime.side_calls
    said = await side.request_text(
        asked, purpose="review", role=Role.JUDGE, patience=PATIENCE, max_output=LONGEST
    )
    if said:
        chat.view.show_note(sanitize_text(said))


async def hooks(chat: Conversation, argument: str) -> None:
    """Show the git hooks installed in this repository, and how to install them."""
    from cli.hooks.install import list_hook_states

    found = await asyncio.to_thread(lambda: list(list_hook_states(chat.runtime.workspace.root)))
    rows = [
        sanitize_text(f"  {name:<20}{'not installed' if state == '-' else state}") for name, state in found
    ]
    more = "  put in place, taken away: !patchwright hook install [NAME…], !patchwright hook uninstall"
    chat.view.show_note("\n".join([*rows, more]))


def _list_commits(chat: Conversation) -> Iterator[tuple[str, str]]:
    """Yield branches and the latest commits, as (name, description)."""
    from tools.git.git_process import Git

    git = Git.from_folder(chat.runtime.workspace.root)
    for line in git.run_text(
        "for-each-ref", "--format=%(refname:short)%09%(subject)", "refs/heads"
    ).splitlines():
        name, _, subject = line.partition("\t")
        yield name, f"branch: {subject}"
    for line in git.run_text("log", f"-{COMMITS}", "--format=%h%x09%s", ok=(0, 128)).splitlines():
        name, _, subject = line.partition("\t")
        yield name, subject


COMMITS = 30
"""Number of commits offered for completion."""

COMMANDS = (
    Command(
        name="/commit", argument="", help="commit what this session changed", run=commit, while_working=False
    ),
    Command(
        name="/review",
        argument="[COMMIT]",
        help="review what is not committed, or a commit",
        run=review,
        choices=_list_commits,
    ),
    Command(name="/hooks", argument="", help="the git hooks of this repository", run=hooks),
)
