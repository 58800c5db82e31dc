"""/help and /quit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cli.output.style.paint import make_painter
from cli.settings.key_actions import ACTIONS, MEANING, format_key
from cli.tui.commands.slash_command import Command

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

NARROW = 60
"""Columns of a terminal below which a row's text goes under its name."""


Groups = Mapping[str, tuple[Command, ...]]


def make_help(
    groups: Callable[[], Groups], parse: Callable[[str, Conversation], Command | str | None]
) -> Command:
    """Return /help over the commands of `groups`; `parse` finds one by its name."""

    async def show_help(chat: Conversation, argument: str) -> None:
        if argument == "keys":
            _show_parts(chat, {"In a prompt": PREFIXES, "Keys": _list_keys(chat)})
        elif argument:
            found = parse(f"/{argument.lstrip('/')}", chat)
            chat.show_message(
                found.usage if isinstance(found, Command) else str(found or f"no command {argument!r}")
            )
        else:
            _show_all(chat, groups())

    return Command(
        name="/help",
        argument="[COMMAND|keys]",
        help="this list, more on one command, or the keys alone",
        run=show_help,
    )


def _show_all(chat: Conversation, groups: Groups) -> None:
    from cli.tui.commands.extension.custom_commands import load_custom_commands

    own = load_custom_commands(chat)
    parts: dict[str, Sequence[tuple[str, str, str]]] = {
        title: [(each.name, each.argument, each.help) for each in group] for title, group in groups.items()
    }
    if own:
        parts["Yours"] = [(each.name, each.argument, each.help) for each in own]
    parts["In a prompt"], parts["Keys"] = PREFIXES, _list_keys(chat)
    _show_parts(chat, parts)


def _show_parts(chat: Conversation, parts: Mapping[str, Sequence[tuple[str, str, str]]]) -> None:
    chat.view.show_note("\n\n".join(_format_part(chat, title, rows) for title, rows in parts.items()))


def _format_part(chat: Conversation, title: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """Format a heading and its rows of (name, arguments, description)."""
    terminal = chat.front.terminal
    paint = make_painter(colour=terminal.colour)
    lines = [paint(title, "cyan")]
    for name, takes, text in rows:
        gap = "\n    " if terminal.columns < NARROW else " " * max(2, 24 - len(f"{name} {takes}".rstrip()))
        lines.append(f"  {paint(name, 'bold')}{paint(f' {takes}', 'dim') if takes else ''}{gap}{text}")
    return "\n".join(lines)


async def leave_conversation(chat: Conversation, argument: str) -> None:
    """End the conversation."""
    chat.quit()


PREFIXES = (
    ("@", "", "complete the name of a file or of a symbol"),
    ("!", "COMMAND", "run a shell command; the model sees what came of it"),
    ("#", "NOTE", "add a line to AGENTS.md"),
)


def _list_keys(chat: Conversation) -> list[tuple[str, str, str]]:
    table = {**ACTIONS, **chat.settings.terminal.keys}
    rows = [(", ".join(format_key(key) for key in table[name]), "", text) for name, text in MEANING.items()]
    more = [("↑", "", "what is queued, to edit it; the history"), ("Ctrl-R", "", "search the history")]
    return [*rows, *more]


QUIT = Command(name="/quit", argument="", help="leave; the session can be resumed", run=leave_conversation)
