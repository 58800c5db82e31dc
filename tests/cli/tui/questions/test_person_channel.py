"""A model's question in plain lines: the next line answers it, and its wait is no work."""

from __future__ import annotations

import asyncio
from typing import cast

from agent.team.person import UserQuestion
from cli.tui.frontend import Frontend
from cli.tui.questions.person_channel import TerminalPerson
from cli.tui.questions.waiting_time import WaitingTime


class Lines:
    """A front-end of lines."""

    redraws = False

    def __init__(self) -> None:
        self.waiting = WaitingTime()
        self.doing = ""

    def alert(self, text: str) -> None:
        """Nobody has to be called."""

    def show_activity(self, doing: str) -> None:
        self.doing = doing


def test_the_next_line_answers_a_question() -> None:
    async def converse() -> str:
        front, shown = Lines(), list[str]()
        person = TerminalPerson(cast(Frontend, front), lambda *parts: shown.extend(parts))
        assert not person.take_answer("too early")
        asked = asyncio.create_task(person.answer(UserQuestion("Which?", ["gross", "net", "both"], True)))
        await asyncio.sleep(0)
        assert (person.is_asking, front.doing) == (True, "Waiting for you")
        assert person.take_answer("1, 3")
        assert not person.take_answer("too late")
        answer = await asked
        assert shown[:2] == ["The model asks", "Which?\n1. gross\n2. net\n3. both"]
        assert front.waiting.seconds > 0
        assert not front.waiting.is_running
        return answer

    assert asyncio.run(converse()) == "gross, both"
