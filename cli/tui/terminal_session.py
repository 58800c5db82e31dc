"""The conversation in a terminal: `run_conversations` opens it and returns when the user leaves.

The prompt comes first: it is drawn, and accepts input, before the session behind it is opened in a thread.
No module that only a session needs is imported here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.style.paint import make_painter, spell_typography
from cli.output.style.terminal import Terminal, measure_columns, wrap_words
from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

    from agent.app_dirs import Home
    from cli.settings.terminal_settings import TerminalSettings
    from cli.tui.conversation.opened_session import OpenedSession
    from cli.tui.conversation.pending_session import PendingSession
    from cli.tui.screen.plain_frontend import PlainFrontend
    from cli.tui.screen.screen import Screen

__all__ = ["Opening", "run_conversations"]

NAME = "patchwright"

PATIENCE = 1.0
"""Seconds to wait, when the user leaves, for a session that is being opened to be closed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How conversations are opened.

    enter: opens a session by its id, or a new one for "", in the calling thread; raises UserError, and any exception
        of its second argument, which it calls repeatedly while it reads
    root: the workspace, for display
    """

    enter: Callable[[str, Callable[[], None]], OpenedSession]
    root: Path
    terminal: TerminalSettings
    home: Home


def run_conversations(opening: Opening, session: str) -> int:
    """Run a conversation in this terminal, and those that the user opens from it; return the exit code.

    Raises UserError for a session that cannot be opened, after the prompt was erased.
    """
    from cli.output.style.theme import choose_theme
    from sandbox.process.bounded_end import run_loop

    choose_theme(opening.terminal.theme)
    following: str | None = session
    while following is not None:
        following = run_loop(_run_conversation(opening, following))
    return 0


async def _run_conversation(opening: Opening, session: str) -> str | None:
    """Run one session; return the id of the next one, "" for a new one, None to leave."""
    from cli.tui.conversation.pending_session import PendingSession
    from cli.tui.conversation.session_opener import open_session

    hosts: list[PendingSession] = []
    front = _make_frontend(opening, hosts)
    lobby = PendingSession(front)
    hosts.append(lobby)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, _handle_end_signal, front, lobby)
    front.print(("\n" if front.redraws else "") + _format_greeting(opening, front.terminal) + "\n")
    entering = asyncio.create_task(
        open_session(lambda proceed: opening.enter(session, proceed), front, lobby)
    )
    try:
        if not front.redraws:  # lines that wait in a pipe go to the session at once
            await asyncio.wait([entering])
        if not entering.done() or entering.exception() is None:
            await front.run(lobby)
    finally:
        lobby.abandon_opening()
        front.drawn.set()
        await asyncio.wait([entering], timeout=PATIENCE)
        chat = entering.result() if entering.done() else None
        if chat is not None:
            await chat.wait_until_idle()
            await chat.runtime.close()
    if not entering.done():
        _exit_process(front)
    if chat is None:
        return None
    if chat.next is None:
        from cli.tui.conversation.opened_session import print_resume_hint

        if not front.stalled:
            print_resume_hint(chat)
    return chat.next


def _handle_end_signal(front: Screen | PlainFrontend, lobby: PendingSession) -> None:
    """Leave on a signal."""
    front.end_quickly()
    lobby.quit()


def _exit_process(front: Screen | PlainFrontend) -> None:
    """End the process while the thread that opens the session is still blocked, possibly for ever. Like a kill, which
    a session survives at any moment; Python's own shutdown could stop a thread inside foreign code, which aborts."""
    if not front.stalled:
        sys.stdout.flush()
    os._exit(0)


def _format_greeting(opening: Opening, terminal: Terminal) -> str:
    paint = make_painter(colour=terminal.colour)
    folder = _shorten_path(sanitize_text(_abbreviate_home(opening.root)), terminal.columns)
    words = wrap_words(spell_typography(f"{NAME} {VERSION} · {folder} · /help"), terminal.columns)
    return paint(NAME, "bold") + "\n".join(
        paint(line, "dim") for line in words.removeprefix(NAME).split("\n")
    )


def _abbreviate_home(path: Path) -> str:
    """Return a path as a shell's prompt shows it, with `~` for the home folder."""
    home = Path.home()
    return str("~" / path.relative_to(home)) if home != path and path.is_relative_to(home) else str(path)


def _shorten_path(path: str, width: int) -> str:
    """Return a path without its first folders if it is wider than a line; its last part stays in any case."""
    parts = path.split("/")
    ends = ("/".join(["…", *parts[place:]]) for place in range(1, len(parts)))
    fitting = (each for each in (path, *ends) if measure_columns(each) <= width)
    return next(fitting, f"…/{parts[-1]}")


def _make_frontend(opening: Opening, hosts: list[PendingSession]) -> Screen | PlainFrontend:
    terminal, settings = Terminal.from_stream(sys.stdout), opening.terminal
    if terminal.tty and not terminal.dumb and sys.stdin.isatty() and not settings.plain:
        from cli.tui.screen.screen import Screen

        def make_completer() -> Completer | None:
            chat = hosts[0].chat
            if chat is None:
                return None
            from cli.tui.input.prompt_completion import PromptCompleter

            return PromptCompleter(chat, screen.refresh_completions)

        screen = Screen(
            history=opening.home.data / "history",
            completer=make_completer,
            keys=settings.keys,
            vi=settings.editing == "vi",
            alert=settings.notify,
            pause=settings.pause,
            images=opening.home.cache / "pasted",
        )
        return screen
    from cli.tui.screen.plain_frontend import open_plain_frontend

    return open_plain_frontend()
