"""Placeholder of a conversation while its session is being opened: it queues the input."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from cli.output.style.terminal import truncate_text
from cli.tui.frontend import Frontend, Styled

if TYPE_CHECKING:
    from cli.tui.conversation.chat import Chat


class OpeningCancelled(Exception):
    """The user has cancelled the opening of the session."""


class PendingSession:
    """An `InputHandler` that queues input at first, and delegates to the conversation from `attach_chat` on.

    The user can cancel the opening; the next input starts it again.
    """

    def __init__(self, front: Frontend) -> None:
        self.chat: Chat | None = None
        self._left = False
        self._given_up = threading.Event()
        self._changed = asyncio.Event()
        self._front = front
        self._said: list[str] = []

    def attach_chat(self, chat: Chat) -> None:
        """Set the conversation of the opened session, and submit the queued input in order."""
        self.chat = chat
        said, self._said = self._said, []
        self._front.show_queued([])
        for text in said:
            chat.submit(text)

    def abandon_opening(self) -> None:
        """Cancel the opening for good: the user has left."""
        self._left = True
        self._given_up.set()
        self._changed.set()

    @property
    def is_wanted(self) -> bool:
        """Whether the session should be opened."""
        return not self._given_up.is_set()

    async def wait_until_wanted(self) -> bool:
        """Wait until the session should be opened; return False if the user has left."""
        while not self.is_wanted and not self._left:
            self._changed.clear()
            await self._changed.wait()
        return not self._left

    def raise_if_cancelled(self) -> None:
        """Raise OpeningCancelled if the session should not be opened. May be called in any thread."""
        if not self.is_wanted:
            raise OpeningCancelled

    @property
    def is_working(self) -> bool:
        return self.chat is None or self.chat.is_working

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
            self._front.show_queued(self._said)

    def interrupt(self) -> bool:
        if self.chat is not None:
            return self.chat.interrupt()
        if not self.is_wanted:
            return False
        self._given_up.set()
        said, self._said = self._said, []
        self._front.show_queued([])
        if said:
            self._front.restore_input("\n".join(said))
        return True

    def pop_queued(self) -> str:
        if self.chat is not None:
            return self.chat.pop_queued()
        text = self._said.pop() if self._said else ""
        self._front.show_queued(self._said)
        return text

    def offer_rewind(self) -> None:
        if self.chat is not None:
            self.chat.offer_rewind()

    def show_transcript(self) -> None:
        if self.chat is not None:
            self.chat.show_transcript()

    def cycle_access(self) -> None:
        if self.chat is not None:
            self.chat.cycle_access()

    def quit(self) -> None:
        self.abandon_opening()
        if self.chat is not None:
            self.chat.quit()
        else:
            self._front.close()

    async def wait_until_idle(self) -> None:
        if self.chat is not None:
            await self.chat.wait_until_idle()

    def format_footer(self, columns: int) -> Styled:
        if self.chat is not None:
            return self.chat.format_footer(columns)
        words = "opening …" if self.is_wanted else "not open · Enter opens · Ctrl-D leaves"
        return [("class:dim", truncate_text(words, columns))]

    def describe_input(self) -> str:
        return self.chat.describe_input() if self.chat is not None else "say what to do, or / for commands"
