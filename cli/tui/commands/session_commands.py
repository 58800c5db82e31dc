"""/sessions, /resume, /fork, /rename and /clear: list, continue, copy, name and start sessions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import TYPE_CHECKING

from agent.session.session_index import SessionSummary
from cli.output.amounts import format_money
from cli.output.style.terminal import truncate_text
from cli.tui.commands.slash_command import Command
from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

LISTED_SESSIONS = 15


async def sessions(chat: Conversation, argument: str) -> None:
    """Choose among this project's sessions; without a live region, or during a turn, list them."""
    if chat.front.redraws and not chat.runtime.is_turn_running:
        await _pick_session(chat, "Which session?", with_current=True)
        return
    found = await asyncio.to_thread(_list_known_sessions, chat)
    width = chat.front.terminal.columns
    lines = []
    for each in found[:LISTED_SESSIONS]:
        spent = format_money(each.cost) if each.cost is not None else ""
        here = "*" if each.id == chat.runtime.session.id else " "
        head = sanitize_text(f"{here} {each.id}  {each.outcome:<13} {spent:>8}")
        title = sanitize_text(each.title or "(nothing asked yet)")
        narrow = width < 70
        lines += (
            [truncate_text(head, width), truncate_text(f"    {title}", width)]
            if narrow
            else [truncate_text(f"{head}  {title}", width)]
        )
    more = len(found) - LISTED_SESSIONS
    lines += [f"  and {more} older: patchwright sessions"] if more > 0 else []
    chat.view.show_note("\n".join([*lines, "  go on with one: /resume"]))


async def resume(chat: Conversation, argument: str) -> None:
    """Continue another session, chosen from a list if it is not named."""
    if argument:
        _check_session(chat, argument)
        chat.switch_session(argument)
        return
    await _pick_session(chat, "Go on with which session?", with_current=False)


async def _pick_session(chat: Conversation, title: str, *, with_current: bool) -> None:
    current = chat.runtime.session.id
    known = await asyncio.to_thread(_list_known_sessions, chat)
    found = [each for each in known if with_current or each.id != current]
    if not found:
        raise UserError(Fault.USAGE, "this project has no other session", "Start one: /clear")
    chosen = await chat.front.pick(title, [_make_choice(each, current) for each in found])
    if chosen is not None and found[chosen].id != current:
        chat.switch_session(found[chosen].id)


async def fork(chat: Conversation, argument: str) -> None:
    """Continue in a copy of this session."""
    from agent.session.export_import import create_fork

    made = await asyncio.to_thread(create_fork, chat.runtime.session.folder, title=argument)
    made.close()
    chat.show_message(f"this is a copy now; the original is {chat.runtime.session.id}", "dim")
    chat.switch_session(made.id)


async def rename(chat: Conversation, argument: str) -> None:
    """Give the session a title."""
    if not argument:
        raise UserError(Fault.USAGE, "no title", "Like this: /rename the login bug")
    chat.runtime.session.rename(argument)
    chat.show_message(f"this session is called: {argument}")


async def clear(chat: Conversation, argument: str) -> None:
    """Start a new session in the same terminal."""
    chat.switch_session("")


def _list_known_sessions(chat: Conversation) -> list[SessionSummary]:
    from agent.session.session_index import load_session_summaries

    found = load_session_summaries(chat.home, chat.runtime.workspace.root)
    current = chat.runtime.session.id
    return [each for each in found if not each.parent and (not each.is_empty or each.id == current)]


def _list_choices(chat: Conversation) -> list[tuple[str, str]]:
    return [
        (each.id, sanitize_text(each.title))
        for each in _list_known_sessions(chat)
        if each.id != chat.runtime.session.id
    ]


def _check_session(chat: Conversation, session: str) -> None:
    if not (chat.runtime.session.folder.parent / session / "log.jsonl").is_file() or "/" in session:
        raise UserError(Fault.USAGE, f"no session {session!r} in this project", "List them: /sessions")
    if session == chat.runtime.session.id:
        raise UserError(Fault.USAGE, "that is this session")


def _make_choice(summary: SessionSummary, current: str) -> Choice:
    when = time.strftime("%d %b %H:%M", time.localtime(summary.updated))
    spent = format_money(summary.cost) if summary.cost else ""
    return Choice(
        label=sanitize_text(summary.title or "(nothing asked yet)"),
        about=" · ".join(filter(None, (when, summary.outcome, spent))),
        current=summary.id == current,
        preview=lambda: _preview_session(summary),
    )


def _preview_session(summary: SessionSummary) -> str:
    """Return the session's last prompts, read from the end of its log only."""
    path = summary.path / "log.jsonl"
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - PREVIEWED, 0))
            lines = file.read().split(b"\n")
    except OSError as error:
        return sanitize_text(str(error))
    texts = []
    for line in lines:
        if b'"kind":"prompt"' in line[:200]:
            with contextlib.suppress(ValueError):  # a truncated line
                texts.append(str(json.loads(line).get("text", "")).strip().partition("\n")[0])
    return "\n".join(
        [f"{summary.id} · {summary.steps} steps", *(f"> {sanitize_text(text)}" for text in texts[-4:])]
    )


PREVIEWED = 256 << 10
"""Bytes at the end of a log that a preview searches for prompts."""


COMMANDS = (
    Command(name="/sessions", argument="", help="this project's sessions", run=sessions),
    Command(
        name="/resume",
        argument="[ID]",
        help="go on with another session",
        run=resume,
        choices=_list_choices,
        while_working=False,
    ),
    Command(
        name="/fork",
        argument="[TITLE]",
        help="go on in a copy of this session",
        details="Both share what was said so far; the files of the workspace are the same for both.",
        run=fork,
        while_working=False,
    ),
    Command(name="/rename", argument="TITLE", help="give this session a title", run=rename),
    Command(name="/clear", argument="", help="start a new session", run=clear, while_working=False),
)
