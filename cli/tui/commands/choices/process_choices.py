"""/processes: the session's background commands as a picker; see the last output of one, or stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.tui.conversation.conversation import Conversation
    from tools.shell.background_commands import BackgroundCommand

NONE = "no command runs in the background; a model starts one with the tool process"


async def processes(chat: Conversation, argument: str) -> None:
    """Show the background commands, or stop one."""
    commands = list(chat.runtime.workspace.background)
    word, _, name = argument.partition(" ")
    if word == "stop":
        await _stop(chat, _find_command(chat, name.strip()))
    elif argument:
        raise UserError(Fault.USAGE, f"/processes has no {argument!r}", "Like this: /processes stop p1")
    elif not commands:
        chat.show_message(NONE)
    else:
        chosen = await chat.front.pick("Which command?", [_make_choice(each) for each in commands])
        if chosen is not None:
            await _offer_actions(chat, commands[chosen])


async def _offer_actions(chat: Conversation, command: BackgroundCommand) -> None:
    if not command.alive:
        chat.show_message(f"{command.name} {command.state}: {command.line}", "dim")
        return
    keep = Choice(label="let it run")
    stop = Choice(label="stop it", about="with all that it has started")
    if await chat.front.pick(_label(command), [keep, stop]) == 1:
        await _stop(chat, command)


async def _stop(chat: Conversation, command: BackgroundCommand) -> None:
    if not command.alive:
        raise UserError(Fault.USAGE, f"{command.name} does not run: {command.state}", "See all: /processes")
    await command.stop("the user stopped it")
    chat.show_message(f"stopped {command.name}: {command.line}")


def _find_command(chat: Conversation, name: str) -> BackgroundCommand:
    found = chat.runtime.workspace.background.get(name)
    if found is None:
        known = ", ".join(each.name for each in chat.runtime.workspace.background)
        raise UserError(
            Fault.USAGE, f"there is no background command {name!r}", f"There are: {known}." if known else NONE
        )
    return found


def _make_choice(command: BackgroundCommand) -> Choice:
    return Choice(label=_label(command), about=sanitize_text(command.state))


def _label(command: BackgroundCommand) -> str:
    return sanitize_text(f"{command.name}  {' '.join(command.line.split())}")


def _list_arguments(chat: Conversation) -> Iterator[tuple[str, str]]:
    for each in chat.runtime.workspace.background.running_commands:
        yield f"stop {each.name}", each.line[:60]


COMMANDS = (
    Command(
        name="/processes",
        argument="[stop NAME]",
        help="commands in the background; stop one",
        run=processes,
        choices=_list_arguments,
    ),
)
