"""Opens the session behind the prompt, in a thread of its own that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from cli.repl.lobby import GivenUp

if TYPE_CHECKING:
    from cli.repl.chat import Chat
    from cli.repl.lobby import Lobby
    from cli.repl.opened import Opened
    from cli.repl.plain import Plain
    from cli.repl.screen import Screen

Result = TypeVar("Result")


async def enter(
    open_: Callable[[Callable[[], None]], Opened], front: Screen | Plain, lobby: Lobby
) -> Chat | None:
    """Open the session as long as the person wants it, and begin the conversation; None if they leave before.

    open_: opens it in whatever thread it is called, and calls what it is given now and then, which may raise `GivenUp`
    """
    await front.drawn.wait()
    while await lobby.wanted():
        try:
            opened = await _in_thread(lambda: open_(lobby.proceed))
        except GivenUp:
            continue
        except BaseException:  # whatever it was: it ends the program, which tells of it
            front.close()
            raise
        if not lobby.wants:
            await opened.runtime.close()
            continue
        from cli.repl.opened import converse

        try:
            chat = converse(opened, front)
        except BaseException:  # the log is released; the error goes on
            front.close()
            await opened.runtime.close()
            raise
        lobby.enter(chat)
        return chat
    return None


async def _in_thread(work: Callable[[], Result]) -> Result:
    """What it returns or raises. Not by asyncio's own threads: a program that ends waits for those, whatever one of
    them waits for (a file on a server that is gone)."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(finish: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended: so does the program
            loop.call_soon_threadsafe(lambda: None if done.cancelled() else finish())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            failure = error
            settle(lambda: done.set_exception(failure))
        else:
            settle(lambda: done.set_result(result))

    threading.Thread(target=run, name="opening", daemon=True).start()
    return await done
