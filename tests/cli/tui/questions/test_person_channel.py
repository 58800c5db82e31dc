"""A model's question to the person: which line answers it, and that its wait is no work."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from agent.team.person import UserQuestion
from cli.tui.frontend import Frontend
from cli.tui.questions.person_channel import TerminalPerson
from cli.tui.questions.waiting_time import WaitingTime


class Screen:
    """A front-end that only knows when its line was begun."""

    def __init__(self) -> None:
        self.waiting = WaitingTime()
        self.line_began = float("-inf")
        self.doing = ""

    def alert(self, text: str) -> None:
        """Nobody has to be called."""

    def show_activity(self, doing: str) -> None:
        self.doing = doing


def test_a_line_begun_before_the_question_does_not_answer_it() -> None:
    async def converse() -> str:
        front, shown = Screen(), list[str]()
        person = TerminalPerson(cast(Frontend, front), lambda *parts: shown.extend(parts))
        front.line_began = time.monotonic()
        asked = asyncio.create_task(person.answer(UserQuestion("Gross or net?")))
        await asyncio.sleep(0)
        assert not person.take_answer("and the old one")
        assert (person.is_asking, front.doing) == (True, "Waiting for you")
        front.line_began = time.monotonic()
        assert person.take_answer("net")
        answer = await asked
        assert shown[:2] == ["The model asks", "Gross or net?"]
        assert front.waiting.seconds > 0
        assert not front.waiting.is_running
        return answer

    assert asyncio.run(converse()) == "net"
