"""The conversation in a terminal: `start` opens it and returns when the user leaves."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.home import Home
from agent.model.base import Model
from agent.runtime import Runtime
from cli.render.terminal import Terminal
from cli.repl.chat import Chat

if TYPE_CHECKING:
    from cli.repl.plain import Plain
    from cli.repl.screen import Screen

__all__ = ["repl", "start"]


def start(
    make_runtime: Callable[[], Runtime],
    *,
    make_model: Callable[[str], Model],
    home: Home,
    notice: str = "",
) -> int:
    """Hold a conversation in this terminal; returns the exit code.

    make_runtime: assembles the session, new or resumed; its UserErrors are the caller's to tell
    make_model: a model by the name that a user gives to /model; raises UserError
    notice: a line or more shown first, such as which model is used when none was named
    """
    return asyncio.run(repl(make_runtime, make_model=make_model, home=home, notice=notice))


async def repl(
    make_runtime: Callable[[], Runtime],
    *,
    make_model: Callable[[str], Model],
    home: Home,
    notice: str = "",
) -> int:
    """See `start`."""
    runtime = make_runtime()
    try:
        front = _front(runtime, home)
        chat = Chat(front, runtime, home=home, make_model=make_model)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, chat.quit)
        _greet(chat, notice)
        loop.call_soon(chat.resume)
        await front.run(chat)
        await chat.finished()
        _farewell(chat)
    finally:
        await runtime.close()
    return 0


def _front(runtime: Runtime, home: Home) -> Screen | Plain:
    terminal = Terminal.of(sys.stdout)
    if terminal.tty and not terminal.dumb and sys.stdin.isatty():
        from cli.repl.screen import Screen

        return Screen(runtime.workspace.root, home.data / "history", lambda: _footer(runtime))
    from cli.repl.plain import Plain

    return Plain()


def _footer(runtime: Runtime) -> str:
    """How far the session reaches, and who answers."""
    from sandbox.inert import inert

    sandbox = runtime.workspace.sandbox.name
    return inert(f"{runtime.policy.mode} · {runtime.policy.approval} · {sandbox} · {runtime.model.name}")


def _greet(chat: Chat, notice: str) -> None:
    runtime = chat.runtime
    chat.tell(f"patchwright · {runtime.workspace.root} · /help")
    if chat.ledger.prompts:
        count = len(chat.ledger.prompts)
        last = chat.ledger.prompts[-1].strip().partition("\n")[0]
        chat.tell(f"session {runtime.session.id}, turn {count + 1}; the last one was: {last}", "dim")
    for line in filter(None, (notice, runtime.workspace.sandbox.warning)):
        chat.tell(line, "yellow")


def _farewell(chat: Chat) -> None:
    """How to come back, if there is something to come back to."""
    if chat.ledger.prompts:
        with contextlib.suppress(OSError):  # the terminal is gone: nobody wants to know
            print(f"go on later: patchwright resume {chat.runtime.session.id}", flush=True)
