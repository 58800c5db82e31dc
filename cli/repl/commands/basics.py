"""/help and /quit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render.paint import painter
from cli.repl.commands.base import Command

if TYPE_CHECKING:
    from cli.repl.chat import Chat


async def show_help(chat: Chat, argument: str) -> None:
    from cli.repl.commands import COMMANDS

    paint = painter(colour=chat.front.terminal.colour)
    rows = [(f"{each.name} {each.argument}".strip(), each.help) for each in COMMANDS]
    lines = []
    for name, text in [*rows, ("", ""), *KEYS]:
        narrow = chat.front.terminal.columns < 60
        gap = "\n    " if narrow and name else " " * max(1, 18 - len(name))
        lines.append(f"  {paint(name, 'bold')}{gap}{text}" if name else "")
    chat.view.note("\n".join(lines))


async def leave(chat: Chat, argument: str) -> None:
    """End the conversation."""
    chat.quit()


KEYS = (
    ("Enter", "send; while it works: say more"),
    ("Alt-Enter", "new line (also Ctrl-J, or \\ at the end)"),
    ("Ctrl-C", "stop the step, again: the turn; clear the line"),
    ("Ctrl-D", "leave"),
    ("@", "complete a file name"),
    ("Ctrl-R", "search the history"),
)

HELP = Command(name="/help", argument="", help="this list", run=show_help)
QUIT = Command(name="/quit", argument="", help="leave; the session can be resumed", run=leave)
