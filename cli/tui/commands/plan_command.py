"""/plan: enter or leave plan mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def plan(chat: Conversation, argument: str) -> None:
    """Enter plan mode, with a task or without; without one, in plan mode, leave it."""
    if chat.planning.on and not argument:
        await chat.planning.leave()
        chat.show_message("plan mode is off", "dim")
        return
    if not chat.planning.on:
        if chat.runtime.policy.mode is Mode.READ_ONLY:
            raise UserError(Fault.USAGE, "the session is read-only already", "Say what you want planned.")
        await chat.planning.enter()
        chat.show_message(
            "plan mode: nothing is changed until you agree to a plan (/plan again leaves it)", "dim"
        )
    if argument:
        await chat.run_turn(argument, shown="")


COMMANDS = (
    Command(
        name="/plan",
        argument="[TASK]",
        help="only look, then agree on a plan",
        details="In plan mode nothing can be changed. When the plan is made you carry it out, edit it first,\n"
        "ask for another one, or leave. /plan without a task switches the mode on and off.",
        run=plan,
        while_working=False,
    ),
)
