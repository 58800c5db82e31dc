"""/plugins: the plugins that the user added, and the rights of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.extension.plugins.plugin_store import find_plugin, list_plugins
from cli.output.lines.plugin_lines import format_parts, format_plugin
from cli.output.style.terminal import truncate_text
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

HOW = "there are no plugins: patchwright plugin add SOURCE adds one; a new session uses it"


async def plugins(chat: Conversation, argument: str) -> None:
    """Show all plugins, or one with its parts."""
    if not argument:
        found = list_plugins(chat.home)
        _show_lines(chat, [format_plugin(each) for each in found] or [HOW])
        return
    from agent.extension.plugins.plugin_parts import read_parts

    plugin = find_plugin(chat.home, argument)
    if plugin is None:
        names = ", ".join(each.name for each in list_plugins(chat.home)) or "none"
        raise UserError(Fault.USAGE, f"no plugin {argument!r}", f"There are: {names}.")
    _show_lines(chat, [format_plugin(plugin), *format_parts(read_parts(plugin).parts)])


def _show_lines(chat: Conversation, lines: list[str]) -> None:
    width = chat.front.terminal.columns
    shown = (sanitize_text(each).replace("\n", " ") for each in lines)
    chat.view.show_note("\n".join(truncate_text(each, width) for each in shown))


def _list_plugins(chat: Conversation) -> Iterator[tuple[str, str]]:
    for each in list_plugins(chat.home):
        yield each.name, each.record.description


COMMANDS = (
    Command(
        name="/plugins",
        argument="[NAME]",
        help="plugins, and what their parts may do",
        details="/plugins NAME: its skills, agents, commands, hooks and servers.\n"
        "patchwright plugin add SOURCE adds one; a new session uses it.",
        run=plugins,
        choices=_list_plugins,
        while_working=True,
    ),
)
