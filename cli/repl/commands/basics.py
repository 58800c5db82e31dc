"""/help and /quit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render.paint import painter
from cli.repl.actions import ACTIONS, MEANING, shown
from cli.repl.commands.base import Command

if TYPE_CHECKING:
    from cli.repl.chat import Chat

NARROW = 60
"""Columns below which what a row says stands under its name."""


async def show_help(chat: Chat, argument: str) -> None:
    """All commands and keys, or one command in full."""
    from cli.repl.commands import COMMANDS, parse
    from cli.repl.custom import custom_commands

    if argument:
        found = parse(f"/{argument.lstrip('/')}", chat)
        chat.tell(found.usage if isinstance(found, Command) else str(found or f"no command {argument!r}"))
        return
    paint = painter(colour=chat.front.terminal.colour)
    rows = [(f"{each.name} {each.argument}".strip(), each.help) for each in COMMANDS]
    rows += [(each.name, each.help) for each in custom_commands(chat.home)]
    lines = []
    for name, text in [*rows, ("", ""), *PREFIXES, ("", ""), *_keys(chat)]:
        gap = "\n    " if chat.front.terminal.columns < NARROW and name else " " * max(2, 22 - len(name))
        lines.append(f"  {paint(name, 'bold')}{gap}{text}" if name else "")
    chat.view.note("\n".join(lines))


async def leave(chat: Chat, argument: str) -> None:
    """End the conversation."""
    chat.quit()


PREFIXES = (
    ("@", "complete the name of a file"),
    ("!COMMAND", "run a shell command; the model sees what came of it"),
    ("#NOTE", "add a line to AGENTS.md"),
)


def _keys(chat: Chat) -> list[tuple[str, str]]:
    table = {**ACTIONS, **chat.settings.terminal.keys}
    rows = [(", ".join(shown(key) for key in table[name]), text) for name, text in MEANING.items()]
    return [*rows, ("↑", "what is queued, to edit it; the history"), ("Ctrl-R", "search the history")]


HELP = Command(name="/help", argument="[COMMAND]", help="this list, or more on one command", run=show_help)
QUIT = Command(name="/quit", argument="", help="leave; the session can be resumed", run=leave)
