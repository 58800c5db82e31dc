"""The conversation in a terminal: `start` opens it and returns when the user leaves."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.events import End, MessageEvent, ObservationEvent, Prompt
from agent.home import Home
from agent.model.base import Model
from agent.runtime import Runtime
from cli.render.terminal import Terminal
from cli.repl.chat import Chat
from cli.settings import Settings

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

    from cli.repl.plain import Plain
    from cli.repl.screen import Screen

__all__ = ["Opening", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How conversations are opened.

    make_runtime: assembles a session: by its id, or a new one for ""; raises UserError
    make_model: a model by the name that a user gives to /model, for a session; raises UserError
    notice: a line shown first when no model was named
    """

    make_runtime: Callable[[str], Runtime]
    make_model: Callable[[Runtime, str], Model]
    settings: Settings
    home: Home
    notice: str = ""


def start(opening: Opening, session: str) -> int:
    """Hold a conversation in this terminal, and those that the user opens from it; returns the exit code."""
    from cli.render.theme import choose

    choose(opening.settings.terminal.theme)
    following: str | None = session
    while following is not None:
        following = asyncio.run(_converse(opening, following))
    return 0


async def _converse(opening: Opening, session: str) -> str | None:
    """One session; returns the id of the next one, "" for a new one, None to leave."""
    runtime = opening.make_runtime(session)
    try:
        made: list[Chat] = []
        front = _front(runtime, opening, made)
        chat = Chat(
            front,
            runtime,
            home=opening.home,
            make_model=lambda name: opening.make_model(runtime, name),
            settings=opening.settings,
        )
        made.append(chat)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, chat.quit)
        _greet(chat, opening.notice)
        loop.call_soon(chat.resume)
        await front.run(chat)
        await chat.finished()
        if chat.next is None:
            _farewell(chat)
    finally:
        await runtime.close()
    return chat.next


def _front(runtime: Runtime, opening: Opening, made: list[Chat]) -> Screen | Plain:
    terminal, settings = Terminal.of(sys.stdout), opening.settings.terminal
    if terminal.tty and not terminal.dumb and sys.stdin.isatty() and not settings.plain:
        from cli.repl.screen import Screen

        def completer() -> Completer:
            from cli.repl.completion import Completions

            return Completions(made[0])

        return Screen(
            history=opening.home.data / "history",
            completer=completer,
            footer=lambda: made[0].footer() if made else "",
            keys=settings.keys,
            vi=settings.editing == "vi",
            alert=settings.notify,
        )
    from cli.repl.plain import Plain

    return Plain()


def _greet(chat: Chat, opening_notice: str) -> None:
    runtime = chat.runtime
    chat.tell(f"patchwright · {runtime.workspace.root} · /help")
    if prompts := runtime.session.points():
        chat.tell(f"session {runtime.session.id}, turn {len(prompts) + 1}", "dim")
        chat.view.said(prompts[-1].text)
        chat.view.recall(*_last_answer(chat))
    unnamed = not chat.settings.model and runtime.model.name == "offline"
    for line in filter(None, (opening_notice if unnamed else "", runtime.workspace.sandbox.warning)):
        chat.tell(line, "yellow")


def _last_answer(chat: Chat) -> tuple[str, End | None]:
    """The end of the last turn: what was said, and how it ended; read backwards, so only that much."""
    end: End | None = None
    for event in reversed(chat.runtime.session.replayed):
        match event:
            case End():
                end = end or event
            case ObservationEvent() if event.data.get("summary"):
                return str(event.data["summary"]), end
            case MessageEvent() if event.text.strip():
                return event.text, end
            case Prompt():
                break
    return "", end


def _farewell(chat: Chat) -> None:
    """How to come back, if there is something to come back to."""
    if chat.runtime.session.points():
        with contextlib.suppress(OSError):  # the terminal is gone: nobody wants to know
            print(f"go on later: patchwright resume {chat.runtime.session.id}", flush=True)
