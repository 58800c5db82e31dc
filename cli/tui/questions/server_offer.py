"""Question after a turn: whether an installed language server is used for a language of the project."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from cli.tui.frontend import Option, Question
from sandbox.errors import UserError

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from tools.code.lsp.known_servers import FoundServer


async def offer_language_server(chat: Conversation) -> None:
    """Ask once for each language, and store a yes in the user's settings; either answer is remembered."""
    from cli.settings.server_offers import find_offer, remember_offer

    runtime = chat.runtime
    configured = runtime.settings.tools.language_servers
    found = await asyncio.to_thread(
        find_offer, chat.home, runtime.workspace.root, list(runtime.facts.files), configured, os.environ
    )
    if found is None or runtime.workspace.sandbox.name == "container":
        return
    chat.front.alert("a question waits for you")
    question = Question(
        title=f"Use the language server {found.name} for {' and '.join(found.languages)}?",
        what=found.command,
        why="a model then finds the uses of one very name, renames it and sees new errors; it runs in the sandbox",
        options=(
            Option(name="yes", key="y", label="Yes, from the next session on"),
            Option(name="no", key="n", label="No, and do not ask again"),
        ),
        otherwise="no",
    )
    answer = await chat.front.ask(question)
    remember_offer(chat.home, found)
    if answer.name == "yes":
        await _store(chat, found)


async def _store(chat: Conversation, server: FoundServer) -> None:
    from cli.settings.server_offers import store_server

    try:
        path = await asyncio.to_thread(store_server, chat.home, server)
    except UserError as error:
        chat.show_message(f"patchwright: {error.message}", "red")
        return
    name = server.languages[0]
    chat.show_message(f"stored in {path}; patchwright config unset language_servers.{name} takes it back")
