"""/model and /cost: who answers, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.bill import Item
from agent.events import Signal
from cli.render.summary import duration, price, tokens
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
    """Tokens and dollars of the whole session, by role and model where there are several."""
    bill = chat.ledger.bill
    if not bill.total.spent.input + bill.total.spent.output:
        chat.tell(f"{plural(bill.total.calls, 'call')}, no tokens used")
        return
    items = bill.items
    lines = [f"  {each.role} ({each.model}): {_sum(each)}" for each in items] if len(items) > 1 else []
    chat.tell("\n".join([_sum(bill.total), *lines]))


def _sum(item: Item) -> str:
    spent = item.spent
    cached = f" ({tokens(spent.cached)} of them cached)" if spent.cached else ""
    thought = f" ({tokens(spent.reasoning)} of them reasoning)" if spent.reasoning else ""
    return (
        f"{plural(item.calls, 'call')}: {tokens(spent.input)} tokens in{cached},"
        f" {tokens(spent.output)} out{thought}; {price(spent, unpriced=item.unpriced)}; {duration(spent.seconds)}"
    )


COMMANDS = (
    Command(
        name="/model", argument="[NAME]", help="show or switch the model", run=model, while_working=False
    ),
    Command(name="/cost", argument="", help="tokens and dollars so far", run=cost),
)
