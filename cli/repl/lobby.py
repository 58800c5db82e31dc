"""What stands in for a conversation while its session is being opened: it takes what is typed, and loses none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.repl.front import Front

if TYPE_CHECKING:
    from cli.repl.chat import Chat


class Lobby:
    """A `Host`: of its own at first, of the conversation's from `enter` on."""

    def __init__(self, front: Front) -> None:
        self.chat: Chat | None = None
        self._left = False
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

    def has_left(self) -> bool:
        """Whether the person went away."""
        return self._left

    @property
    def working(self) -> bool:
        return self.chat is None or self.chat.working

    def submit(self, text: str) -> None:
        if self.chat is not None:
            self.chat.submit(text)
        elif text.strip():
            self._said.append(text)
            self._front.queued(self._said)

    def interrupt(self) -> bool:
        return self.chat is not None and self.chat.interrupt()

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
        return self.chat.footer() if self.chat is not None else "opening …"
