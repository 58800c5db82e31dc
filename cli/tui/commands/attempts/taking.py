"""/attempts use: another attempt's change in place of the one in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.commands.attempts.attempt_actions import load_tree

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def use_attempt(chat: Conversation, number: int) -> None:
    """Take an attempt in a turn of its own. Raises UserError, with nothing changed, where that cannot be."""
    from agent.strategy.person.taken_attempt import prepare_taken_attempt, take_attempt

    tree = await load_tree(chat)
    await take_attempt(await prepare_taken_attempt(chat.runtime, tree, number), tree)
