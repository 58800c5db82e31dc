"""Table of the slash commands, which are grouped by theme into modules.

Each module has a tuple `COMMANDS`. Heavy imports belong into the functions: completion imports all modules.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cli.tui.commands import (
    context_commands,
    cost_command,
    diff_command,
    git_commands,
    goal_command,
    help_commands,
    inspect_commands,
    model_commands,
    offline_commands,
    permission_commands,
    plan_command,
    requirements_command,
    session_commands,
    tests_command,
    undo_commands,
)
from cli.tui.commands.attempts import attempts_command, strategy_command
from cli.tui.commands.choices import process_choices
from cli.tui.commands.extension import agents_command, mcp_command, plugins_command
from cli.tui.commands.screen import copy_command, theme_command
from cli.tui.commands.slash_command import Command

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

_ALL: tuple[Command, ...] = (
    help_commands.make_help(lambda: GROUPS, lambda text, chat: parse_command(text, chat)),
    *model_commands.COMMANDS,
    *cost_command.COMMANDS,
    *tests_command.COMMANDS,
    *attempts_command.COMMANDS,
    *strategy_command.COMMANDS,
    *plan_command.COMMANDS,
    *goal_command.COMMANDS,
    *requirements_command.COMMANDS,
    *permission_commands.COMMANDS,
    *mcp_command.COMMANDS,
    *agents_command.COMMANDS,
    *plugins_command.COMMANDS,
    *process_choices.COMMANDS,
    *copy_command.COMMANDS,
    *theme_command.COMMANDS,
    *diff_command.COMMANDS,
    *undo_commands.COMMANDS,
    *git_commands.COMMANDS,
    *offline_commands.COMMANDS,
    *context_commands.COMMANDS,
    *inspect_commands.COMMANDS,
    *session_commands.COMMANDS,
    help_commands.QUIT,
)
_NAMED = {each.name: each for each in _ALL}

GROUPS: Mapping[str, tuple[Command, ...]] = {
    title: tuple(_NAMED[f"/{name}"] for name in names.split())
    for title, names in {
        "Work": "plan goal requirements agents processes attempts team tests localize repair review init memory",
        "Changes": "diff undo redo rewind commit hooks",
        "Model and context": "model strategy cost context compact state",
        "Reach": "status mode approval mcp plugins",
        "Session": "sessions resume fork rename copy trace feedback export clear",
        "Program": "theme settings help quit",
    }.items()
}
"""Commands by heading, in the order of /help."""

COMMANDS = tuple(each for group in GROUPS.values() for each in group)

__all__ = ["BY_NAME", "COMMANDS", "GROUPS", "Command", "parse_command"]

BY_NAME = {each.name: each for each in COMMANDS} | {"/exit": help_commands.QUIT}

_SETTINGS = {"/vim": ("terminal.editing", "vi")}
"""Commands of other agents that are a setting here, and a value of it."""


def parse_command(text: str, chat: Conversation) -> Command | str | None:
    """Return the command of a line, an error message for an unknown command, or None for any other text."""
    word = text.split(maxsplit=1)[0]
    if not word.startswith("/") or "/" in word[1:] or "\n" in text:  # "/usr/bin is missing" is a prompt
        return None
    if command := BY_NAME.get(word):
        return command
    from cli.tui.commands.extension.custom_commands import find_custom_command, load_custom_commands

    own = load_custom_commands(chat)
    if command := find_custom_command(word.lower(), own):
        return command
    if word in _SETTINGS:
        setting, example = _SETTINGS[word]
        value = text.partition(" ")[2].strip() or example
        return f"no command {word!r}: it is a setting. Like this: /settings {setting} {value}"
    near = difflib.get_close_matches(word, [*BY_NAME, *(each.name for each in own)], n=3)
    near.sort(key=lambda name: sorted(name) != sorted(word))  # exchanged letters are the commonest slip
    return f"no command {word!r}. " + (f"Did you mean {near[0]}?" if near else "/help lists them.")
