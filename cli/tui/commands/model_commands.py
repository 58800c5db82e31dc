"""/model and /team: the model in use, turns of several sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.events import Signal
from cli.tui.commands.choices.model_choices import describe_offer, list_offers, pick_model
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def model(chat: Conversation, argument: str) -> None:
    """Switch to a model, chosen from a list if it is not named."""
    name = argument or await pick_model(chat)
    if name is None or name == chat.runtime.model.name:
        return
    await chat.switch_model(name)
    chat.runtime.session.append(Signal(name="model", detail=f"model: {chat.runtime.model.name}"))


async def team(chat: Conversation, argument: str) -> None:
    """Run one turn by the strategy `team`."""
    if not argument.strip():
        raise UserError(Fault.USAGE, "/team needs a task", "/team TASK")
    settings = chat.settings.session.strategy
    await chat.run_turn(argument.strip(), shown="", strategy=replace(settings, name="team"))


def _list_models(chat: Conversation) -> Iterator[tuple[str, str]]:
    """Yield the available models: of the settings, used before, and of providers with an API key."""
    from agent.model.model_offers import OFFLINE

    for each in (*list_offers(chat), OFFLINE):
        if each.name != chat.runtime.model.name:
            yield each.name, describe_offer(each)


COMMANDS = (
    Command(
        name="/model",
        argument="[NAME]",
        help="choose the model of this session",
        details="Without a name: a list to choose from. Local servers are asked meanwhile.",
        run=model,
        choices=_list_models,
        while_working=False,
    ),
    Command(
        name="/team",
        argument="TASK",
        help="brief, plan, tests and code by separate roles",
        details="Each role is a session that sees your files and the work of the roles before it, but not this\n"
        "conversation. A task in one place is worked on as usual. Costs: `patchwright strategies`.",
        run=team,
        while_working=False,
    ),
)
