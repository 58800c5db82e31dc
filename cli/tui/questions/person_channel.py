"""Questions of models to the person at the terminal: the next line that is typed is the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from agent.team.person import UserQuestion, split_option
from cli.tui.frontend import Frontend
from cli.tui.screen.working_line import WAITING
from sandbox.sanitize import sanitize_text


class TerminalPerson:
    """Asks one question after the other. Implements `Person`.

    show: prints a question: its title, its text, and how to answer it
    pause: the turn's clock is stopped inside this context
    """

    def __init__(
        self,
        front: Frontend,
        show: Callable[[str, str, str], None],
        pause: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._front = front
        self._pause = pause
        self._show = show
        self._one = asyncio.Lock()
        self._waiting: asyncio.Future[str] | None = None
        self._came = 0.0

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`."""
        async with self._one:
            self._show("The model asks", _format_question(question), _explain_answer(question))
            self._front.alert("a question waits for your answer")
            self._front.show_activity(WAITING)
            self._waiting, self._came = asyncio.get_running_loop().create_future(), time.monotonic()
            try:
                with self._front.waiting, self._pause():
                    answer = await self._waiting
                return question.read_answer(answer)
            finally:
                self._waiting = None

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._waiting is not None

    def take_answer(self, text: str) -> bool:
        """Take typed text for the answer; False if no question waits, or the text was begun before it came."""
        if self._waiting is None or self._waiting.done() or self._front.line_began < self._came:
            return False
        self._waiting.set_result(text)
        return True


def _format_question(question: UserQuestion) -> str:
    """Return a question with its options as a numbered list."""
    rows = [sanitize_text(question.question.strip())]
    for number, option in enumerate(question.options, 1):
        label, meaning = map(sanitize_text, split_option(option))
        rows.append(f"{number}. {label}" + (f" ({meaning})" if meaning else ""))
    return "\n".join(rows)


def _explain_answer(question: UserQuestion) -> str:
    if not question.options:
        return "Your next line is the answer."
    numbers = "numbers such as 1,2" if question.several else "a number"
    return f"Your next line is the answer: {numbers}, or your own words."
