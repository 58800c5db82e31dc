"""/trace, /feedback, /export and /settings: the full session, notes on it, a copy in a file, and the settings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def trace(chat: Conversation, argument: str) -> None:
    """Show the whole session in the pager, nothing folded."""
    from cli.tui.screen.transcript import Transcript

    terminal = chat.front.terminal
    pages = Transcript(
        chat.runtime.session, width=terminal.columns, colour=terminal.colour, unicode=terminal.unicode
    )
    await chat.front.show_pages(f"session {chat.runtime.session.id}", pages)


async def feedback(chat: Conversation, argument: str) -> None:
    """Note what was good or bad about a step."""
    from sandbox.extensions import load_extension

    chat.show_message(load_extension("reports", "feedback")(chat.runtime.session, argument))


async def export(chat: Conversation, argument: str) -> None:
    """Write the session to a file, in the format of its suffix."""
    from cli.output.session_export import export_session

    path = Path(argument or f"session-{chat.runtime.session.id}.md").expanduser()
    path = path if path.is_absolute() else chat.runtime.workspace.root / path
    await asyncio.to_thread(export_session, chat.runtime.session.folder, path, replace=not argument)
    chat.show_message(f"written: {sanitize_text(str(path))}")


async def settings(chat: Conversation, argument: str) -> None:
    """Show the changed settings with the source of each value, or set one."""
    from cli.settings.setting_sources import explain_settings, store_setting

    if not argument:
        root, flags = chat.runtime.workspace.root, chat.settings.flags
        rows = await asyncio.to_thread(lambda: explain_settings(chat.home, root, flags=flags))
        changed = [
            f"{row.key} = {row.formatted_value}  ({row.source})" for row in rows if row.source != "built-in"
        ]
        rest = f"{len(rows) - len(changed)} more" if changed else f"all {len(rows)}"
        more = f"{rest} are as built in: !patchwright config lists them"
        chat.show_message("\n".join([*changed, more, "set one: /settings KEY VALUE"]))
        return
    key, _, value = argument.partition(" ")
    if not value.strip():
        raise UserError(Fault.USAGE, "which value?", "Like this: /settings terminal.theme dark")
    path = await asyncio.to_thread(store_setting, chat.home, key.rstrip("= "), value.strip().lstrip("= "))
    chat.show_message(f"{key} is stored in {path}; a new session uses it")


COMMANDS = (
    Command(name="/trace", argument="", help="the whole session, nothing folded", run=trace),
    Command(
        name="/feedback",
        argument="[STEP] good|bad TEXT",
        help="note what was good or bad about a step",
        details="Without a number it is the last step. Notes are in the session's log, on its trace page, and by\n"
        "behavior in `patchwright sessions feedback`. The model is not told.",
        run=feedback,
    ),
    Command(
        name="/export",
        argument="[FILE]",
        help="write the session as .md, .html, .json or .jsonl",
        details="Without a name: session-ID.md in the workspace. .jsonl can be imported again:\n"
        "patchwright session import FILE.",
        run=export,
    ),
    Command(name="/settings", argument="[KEY VALUE]", help="what is set, and where; set one", run=settings),
)
