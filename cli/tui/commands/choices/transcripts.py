"""Transcript of a child session in the pager."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def show_child(chat: Conversation, child: str, name: str) -> None:
    """Show the session `child` as it stands in its log. Raises UserError if the log is gone."""
    from agent.session.log import read_events
    from cli.tui.screen.transcript import Transcript

    terminal = chat.front.terminal
    folder = chat.runtime.session.folder.parent / child
    try:
        events = await asyncio.to_thread(lambda: list(read_events(folder)))
    except FileNotFoundError:
        raise UserError(Fault.USAGE, f"the log of {name} is gone: {child}") from None
    pages = Transcript(events, width=terminal.columns, colour=terminal.colour, unicode=terminal.unicode)
    await chat.front.show_pages(f"{name} (session {child})", pages)
