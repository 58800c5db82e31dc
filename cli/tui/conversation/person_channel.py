"""Questions of models to the person at the terminal: the next line that is typed is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cli.tui.frontend import Frontend
from sandbox.sanitize import sanitize_text


class TerminalPerson:
    """Asks one question after the other. Implements `Person`.

    show: prints a message of the program
    """

    def __init__(self, front: Frontend, show: Callable[[str], None]) -> None:
        self._front = front
        self._show = show
        self._one = asyncio.Lock()
        self._waiting: asyncio.Future[str] | None = None

    async def answer(self, question: str) -> str:
        """See `Person.answer`."""
        async with self._one:
            self._show(f"The model asks: {sanitize_text(question)}\nYour next line is the answer.")
            self._front.alert("a question waits for your answer")
            self._front.show_activity("waiting for your answer")
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                return await self._waiting
            finally:
                self._waiting = None

    def take_answer(self, text: str) -> bool:
        """Take typed text for the answer; False if no question waits."""
        if self._waiting is None or self._waiting.done():
            return False
        self._waiting.set_result(text)
        return True
