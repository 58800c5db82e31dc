"""/commit and /review."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.repl.commands.base import Command

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
    from cli.committing import reviewed

    flags = {"model": chat.runtime.model.name}
    found = await asyncio.to_thread(reviewed, chat.runtime.workspace.root, flags, argument)
    chat.view.note(found.text() if found is not None else "nothing to review: all is committed")


COMMANDS = (
    Command(
        name="/commit", argument="", help="commit what this session changed", run=commit, while_working=False
    ),
    Command(name="/review", argument="[COMMIT]", help="review what is not committed", run=review),
)
