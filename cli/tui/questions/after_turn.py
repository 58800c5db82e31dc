"""Questions after a turn, one after the other; each decides itself whether it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.questions.server_offer import offer_language_server
from cli.tui.questions.signing_trust import offer_signing_trust
from sandbox.extensions import load_extension

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def ask_after_turn(chat: Conversation) -> None:
    """Ask what the turn leaves to decide."""
    for name in ("proposal", "kept_test"):
        await load_extension("questions", name)(chat)
    await offer_signing_trust(chat)
    await offer_language_server(chat)
