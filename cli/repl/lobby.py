"""What stands in for a conversation while its session is being opened: it takes what is typed, and loses none of it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from cli.repl.front import Front

if TYPE_CHECKING:
    from cli.repl.chat import Chat


class GivenUp(Exception):
    """The session that is being opened is not wanted any more."""


class Lobby:
    """A `Host`: of its own at first, of the conversation's from `enter` on.

    Who does not want to wait stops the opening; what they send next begins it anew.
    """

    def __init__(self, front: Front) -> None:
        self.chat: Chat | None = None
        self._left = False
        self._given_up = threading.Event()
        self._changed = asyncio.Event()
        self._front = front
        self._said: list[str] = []

    def enter(self, chat: Chat) -> None:
        """The session is open: hand over what was said meanwhile, in its order."""
        self.chat = chat
        said, self._said = self._said, []
        self._front.queued([])
        for text in said:
            chat.submit(text)

    def leave(self) -> None:
        """Nobody waits for the session any more."""
        self._left = True
        self._given_up.set()
        self._changed.set()

    @property
    def wants(self) -> bool:
        """Whether the session is to be opened."""
        return not self._given_up.is_set()

    async def wanted(self) -> bool:
        """Wait until the session is to be opened; False if the person has left."""
        while not self.wants and not self._left:
            self._changed.clear()
            await self._changed.wait()
        return not self._left

    def proceed(self) -> None:
        """Called while the session is being opened, in any thread: raises `GivenUp` if it is not to be."""
        if not self.wants:
            raise GivenUp

    @property
    def working(self) -> bool:
        return self.chat is None or self.chat.working

    def submit(self, text: str) -> None:
        if self.chat is not None:
            self.chat.submit(text)
        elif text.strip() == "/quit" and not self._said:
            self.quit()
        else:
            if text.strip():
                self._said.append(text)
            self._given_up.clear()
            self._changed.set()
            self._front.queued(self._said)

    def interrupt(self) -> bool:
        if self.chat is not None:
            return self.chat.interrupt()
        if not self.wants:
            return False
        self._given_up.set()
        said, self._said = self._said, []
        self._front.queued([])
        if said:
            self._front.refill("\n".join(said))
        return True

    def recall(self) -> str:
        if self.chat is not None:
            return self.chat.recall()
        text = self._said.pop() if self._said else ""
        self._front.queued(self._said)
        return text

    def rewind(self) -> None:
        if self.chat is not None:
            self.chat.rewind()

    def unfold(self) -> None:
        if self.chat is not None:
            self.chat.unfold()

    def toggle_plan(self) -> None:
        if self.chat is not None:
            self.chat.toggle_plan()

    def quit(self) -> None:
        self.leave()
        if self.chat is not None:
            self.chat.quit()
        else:
            self._front.close()

    async def finished(self) -> None:
        if self.chat is not None:
            await self.chat.finished()

    def footer(self) -> str:
        if self.chat is not None:
            return self.chat.footer()
        return "opening …" if self.wants else "not open · Enter opens · Ctrl-D leaves"
