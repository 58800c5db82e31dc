"""Questions after a turn, one after the other; each decides itself whether it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.questions.proposal import offer_proposal
from cli.tui.questions.reproduction_offer import offer_kept_test
from cli.tui.questions.server_offer import offer_language_server

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def ask_after_turn(chat: Conversation) -> None:
    """Ask what the turn leaves to decide."""
    await offer_proposal(chat)
    await offer_kept_test(chat)
    await offer_language_server(chat)
