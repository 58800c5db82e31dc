"""Questions of models to the person at the terminal: the next line that is typed is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cli.tui.frontend import Frontend
from cli.tui.screen.working_line import WAITING
from sandbox.sanitize import sanitize_text


class TerminalPerson:
    """Asks one question after the other. Implements `Person`.

    show: prints a question: its title, its text, and how to answer it
    """

    def __init__(self, front: Frontend, show: Callable[[str, str, str], None]) -> None:
        self._front = front
        self._show = show
        self._one = asyncio.Lock()
        self._waiting: asyncio.Future[str] | None = None

    async def answer(self, question: str) -> str:
        """See `Person.answer`."""
        async with self._one:
            self._show("The model asks", sanitize_text(question), "Your next line is the answer.")
            self._front.alert("a question waits for your answer")
            self._front.show_activity(WAITING)
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                with self._front.waiting:
                    return await self._waiting
            finally:
                self._waiting = None

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._waiting is not None

    def take_answer(self, text: str) -> bool:
        """Take typed text for the answer; False if no question waits."""
        if self._waiting is None or self._waiting.done():
            return False
        self._waiting.set_result(text)
        return True
