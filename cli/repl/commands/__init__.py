"""The slash commands, one module a theme: what they are called, what they say of themselves, and what they do.

A theme has a tuple `COMMANDS`. Heavy imports belong into the functions: all themes are imported for completion.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cli.repl.commands import (
    basics,
    changes,
    committing,
    context,
    looking,
    models,
    planning,
    project,
    reach,
    servers,
    sessions,
    undoing,
)
from cli.repl.commands.base import Command

if TYPE_CHECKING:
    from cli.repl.conversation import Conversation

_ALL: tuple[Command, ...] = (
    basics.make_help(lambda: GROUPS, lambda text, chat: parse_command(text, chat)),
    *models.COMMANDS,
    *planning.COMMANDS,
    *reach.COMMANDS,
    *servers.COMMANDS,
    *changes.COMMANDS,
    *undoing.COMMANDS,
    *committing.COMMANDS,
    *project.COMMANDS,
    *context.COMMANDS,
    *looking.COMMANDS,
    *sessions.COMMANDS,
    basics.QUIT,
)
_NAMED = {each.name: each for each in _ALL}

GROUPS: Mapping[str, tuple[Command, ...]] = {
    title: tuple(_NAMED[f"/{name}"] for name in names.split())
    for title, names in {
        "Work": "plan tests localize repair review init memory",
        "Changes": "diff undo redo rewind commit hooks",
        "Model and context": "model cost context compact state",
        "Reach": "mode approval mcp",
        "Session": "sessions resume fork rename trace export clear",
        "Program": "settings help quit",
    }.items()
}
"""As the help shows them."""

COMMANDS = tuple(each for group in GROUPS.values() for each in group)

__all__ = ["BY_NAME", "COMMANDS", "GROUPS", "Command", "parse_command"]

BY_NAME = {each.name: each for each in COMMANDS} | {"/exit": basics.QUIT}


def parse_command(text: str, chat: Conversation) -> Command | str | None:
    """The command in a line; a complaint if it only looks like one; None if it is something else."""
    word = text.split(maxsplit=1)[0]
    if not word.startswith("/") or "/" in word[1:] or "\n" in text:  # "/usr/bin is missing" is a prompt
        return None
    if command := BY_NAME.get(word):
        return command
    from cli.repl.custom import load_custom_commands

    own = {each.name: each for each in load_custom_commands(chat.home)}
    if command := own.get(word):
        return command
    near = difflib.get_close_matches(word, [*BY_NAME, *own], n=1)
    return f"no command {word!r}. " + (f"Did you mean {near[0]}?" if near else "/help lists them.")
