"""/sessions: what was done in this project before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.render.summary import money
from cli.render.terminal import fit
from cli.repl.commands.base import Command
from sandbox.inert import inert

if TYPE_CHECKING:
    from cli.repl.chat import Chat

LISTED_SESSIONS = 15


async def sessions(chat: Chat, argument: str) -> None:
    """This project's sessions, the newest first."""
    from agent.index import sessions as indexed

    found = await asyncio.to_thread(indexed, chat.home, chat.runtime.workspace.root)
    width = chat.front.terminal.columns
    lines = []
    for each in found[:LISTED_SESSIONS]:
        spent = money(each.cost) if each.cost is not None else ""
        here = "*" if each.id == chat.runtime.session.id else " "
        head = inert(f"{here} {each.id}  {each.outcome:<13} {spent:>8}")
        title = inert(each.title or "(nothing asked yet)")
        narrow = width < 70
        lines += (
            [fit(head, width), fit(f"    {title}", width)] if narrow else [fit(f"{head}  {title}", width)]
        )
    more = len(found) - LISTED_SESSIONS
    lines += [f"  and {more} older: patchwright sessions"] if more > 0 else []
    chat.view.note("\n".join([*lines, "  go on with one: patchwright resume ID"]))


COMMANDS = (Command(name="/sessions", argument="", help="this project's sessions", run=sessions),)
