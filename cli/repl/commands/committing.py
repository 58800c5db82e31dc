"""/commit and /review."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.repl.commands.base import Command
from sandbox.inert import inert

if TYPE_CHECKING:
    from cli.repl.chat import Chat


async def commit(chat: Chat, argument: str) -> None:
    """Commit what this session changed, and nothing of the user's."""
    made = await chat.runtime.committer.now()
    if made is None:
        chat.tell("nothing to commit: this session has changed no file")
    else:
        chat.tell(made.text, "yellow" if made.failed else None)


async def review(chat: Chat, argument: str) -> None:
    """Review what is not committed, or a commit."""
    from agent.model.roles import Role
    from cli.committing import LONGEST, PATIENCE, examined

    found = await asyncio.to_thread(examined, chat.runtime.workspace.root, argument)
    if found is None:
        chat.tell("nothing to review: all is committed")
        return
    review, asked = found
    chat.view.note(review.text())
    # The session's own models, at the servers that it was given, within its limits.
    side = chat.runtime.side
    said = await side.text(asked, purpose="review", role=Role.JUDGE, patience=PATIENCE, max_output=LONGEST)
    if said:
        chat.view.note(inert(said))


COMMANDS = (
    Command(
        name="/commit", argument="", help="commit what this session changed", run=commit, while_working=False
    ),
    Command(name="/review", argument="[COMMIT]", help="review what is not committed", run=review),
)
