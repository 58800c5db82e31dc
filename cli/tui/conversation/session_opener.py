"""Opening of the session behind the prompt, in a daemon thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from cli.tui.conversation.pending_session import OpeningCancelled

if TYPE_CHECKING:
    from cli.tui.conversation.chat import Chat
    from cli.tui.conversation.opened_session import OpenedSession
    from cli.tui.conversation.pending_session import PendingSession
    from cli.tui.screen.plain_frontend import PlainFrontend
    from cli.tui.screen.screen import Screen

Result = TypeVar("Result")


async def open_session(
    open_: Callable[[Callable[[], None]], OpenedSession], front: Screen | PlainFrontend, lobby: PendingSession
) -> Chat | None:
    """Open the session while the user wants it, and start the conversation; return None if they leave before.

    open_: opens the session in the calling thread; calls its argument repeatedly, which may raise OpeningCancelled
    """
    await front.drawn.wait()
    while await lobby.wait_until_wanted():
        try:
            opened = await _run_in_thread(lambda: open_(lobby.raise_if_cancelled))
        except OpeningCancelled:
            continue
        except BaseException:  # any error ends the program, which reports it
            front.close()
            raise
        if not lobby.is_wanted:
            await opened.runtime.close()
            continue
        from cli.tui.conversation.opened_session import start_chat

        try:
            chat = start_chat(opened, front)
        except BaseException:  # release the log, then re-raise
            front.close()
            await opened.runtime.close()
            raise
        lobby.attach_chat(chat)
        return chat
    return None


async def _run_in_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a daemon thread; return its result or raise its exception. Not in asyncio's thread pool: at exit
    Python waits for those threads, even if one is blocked (a file on a server that is gone)."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def finish_in_loop(finish: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the program with it
            loop.call_soon_threadsafe(lambda: None if done.cancelled() else finish())

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            failure = error
            finish_in_loop(lambda: done.set_exception(failure))
        else:
            finish_in_loop(lambda: done.set_result(result))

    threading.Thread(target=run, name="opening", daemon=True).start()
    return await done
