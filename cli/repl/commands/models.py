"""/model and /cost: who answers, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.events import Signal
from cli.render.summary import price, tokens
from cli.repl.commands.base import Command
from tools.text import plural

if TYPE_CHECKING:
    from cli.repl.chat import Chat


async def model(chat: Chat, argument: str) -> None:
    """Show the model, or use another one from now on."""
    if not argument:
        chat.tell(f"model: {chat.runtime.model.name}\nswitch: /model PROVIDER/NAME, or /model offline")
        return
    await chat.switch_model(argument)
    chat.runtime.session.append(Signal(name="model", detail=f"model: {chat.runtime.model.name}"))


async def cost(chat: Chat, argument: str) -> None:
    """Tokens and dollars of the whole session."""
    spent = chat.ledger.spent
    if not spent.input + spent.output:
        chat.tell(f"{plural(chat.ledger.calls, 'step')}, no tokens used")
        return
    cached = f" ({tokens(spent.cached)} of them cached)" if spent.cached else ""
    chat.tell(
        f"{plural(chat.ledger.calls, 'call')}: {tokens(spent.input)} tokens in{cached},"
        f" {tokens(spent.output)} out; {price(spent, unpriced=chat.ledger.unpriced)}"
    )


COMMANDS = (
    Command(
        name="/model", argument="[NAME]", help="show or switch the model", run=model, while_working=False
    ),
    Command(name="/cost", argument="", help="tokens and dollars so far", run=cost),
)
