"""Models as rows of the picker of /model: with window, price and the reason why each can be used."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from cli.output.amounts import format_tokens
from cli.tui.frontend import Choice
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.model_offers import ModelOffer
    from cli.tui.conversation.conversation import Conversation


WIDE = 120
"""Columns from which on window, price and source have columns of their own."""


async def pick_model(chat: Conversation) -> str | None:
    """Let the user choose a model; return its name, None if they left. Local servers are added as they answer."""
    from agent.model.model_offers import OFFLINE, ModelOffer, find_server_offers

    current = chat.runtime.model.name
    offers = await asyncio.to_thread(list_offers, chat)
    if not any(each.name == current for each in offers):
        source = OFFLINE.source if current == OFFLINE.name else "in use"
        offers.insert(0, ModelOffer(name=current, source=source))
    if current != OFFLINE.name:
        offers.append(OFFLINE)

    async def add_servers() -> Sequence[Choice]:
        known = {each.name for each in offers}
        found = [each for each in await find_server_offers(os.environ) if each.name not in known]
        offers.extend(found)
        return [_make_choice(each, current, aligned=aligned) for each in found]

    title, aligned = f"Which model? Now: {sanitize_text(current)}", chat.front.terminal.columns >= WIDE
    rows = [_make_choice(each, current, aligned=aligned) for each in offers]
    chosen = await chat.front.pick(title, rows, add_servers())
    return offers[chosen].name if chosen is not None else None


def list_offers(chat: Conversation) -> list[ModelOffer]:
    """Return the models that are known without asking a server."""
    from agent.model.model_offers import list_known_offers
    from agent.model_selection import ModelSelection
    from agent.session.session_index import load_session_summaries

    selection = ModelSelection(settings=chat.settings.session, env=os.environ, cache=chat.home.cache)
    summaries = load_session_summaries(chat.home, chat.runtime.workspace.root)
    used = [each.model for each in summaries if each.id != chat.runtime.session.id]
    return list_known_offers(selection, used)


def describe_offer(offer: ModelOffer) -> str:
    """Return window, price and source of a model, as far as they are known."""
    return sanitize_text(" · ".join(filter(None, _list_facts(offer))))


def _list_facts(offer: ModelOffer) -> tuple[str, str, str]:
    window = f"{format_tokens(offer.window)} window" if offer.window else ""
    free = offer.input == 0 and offer.output == 0
    price = "free" if free else ""
    if not free and offer.input is not None and offer.output is not None:
        price = f"${offer.input:g} in, ${offer.output:g} out"
    return window, price, offer.source


def _make_choice(offer: ModelOffer, current: str, *, aligned: bool) -> Choice:
    window, price, source = _list_facts(offer)
    about = sanitize_text(f"{window:<13}  {price:<17}  {source}") if aligned else describe_offer(offer)
    return Choice(label=sanitize_text(offer.name), about=about, current=offer.name == current)
