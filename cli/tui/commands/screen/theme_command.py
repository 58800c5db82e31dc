"""/theme: other colours for this session; stored only if it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.output.style.theme import THEMES, choose_theme, get_theme
from cli.tui.commands.slash_command import Command
from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

MEANINGS = {
    "terminal": "the terminal's own sixteen colours",
    "dark": "bright colours, for dark backgrounds",
    "light": "dark colours, for light backgrounds",
    "blue-orange": "for red-green colour blindness",
    "mono": "no colours",
}

STORE = "--save"


async def theme(chat: Conversation, argument: str) -> None:
    """Use a theme from now on, chosen from a list if it is not named."""
    words = argument.split()
    names = [each for each in words if each != STORE]
    name = names[0] if names else await _pick_theme(chat)
    if name is None:
        return
    if name not in THEMES or len(names) > 1:
        raise UserError(
            Fault.USAGE, f"no theme {' '.join(names)!r}", f"Themes: {', '.join(THEMES)}. To keep it: {STORE}"
        )
    choose_theme(name)
    if get_theme() != name:
        chat.show_message("NO_COLOR is set: no colours")
    elif STORE in words:
        from cli.settings.setting_sources import store_setting

        path = await asyncio.to_thread(store_setting, chat.home, "terminal.theme", name)
        chat.show_message(f"theme: {name}; stored in {path}")
    else:
        chat.show_message(f"theme: {name}, in this session (/theme {name} {STORE} keeps it)")


async def _pick_theme(chat: Conversation) -> str | None:
    names = list(THEMES)
    rows = [Choice(label=each, about=MEANINGS.get(each, ""), current=each == get_theme()) for each in names]
    chosen = await chat.front.pick("Which theme?", rows)
    return names[chosen] if chosen is not None else None


def _list_themes(chat: Conversation) -> Iterator[tuple[str, str]]:
    for each in THEMES:
        yield each, MEANINGS.get(each, "")


COMMANDS = (
    Command(
        name="/theme",
        argument=f"[NAME [{STORE}]]",
        help="other colours, from now on",
        details=f"For this session; with {STORE} it is stored in your settings.\n"
        "What is printed already keeps its colours.",
        run=theme,
        choices=_list_themes,
    ),
)
