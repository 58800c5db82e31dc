"""Questions of models to the program that drives a session: a line out, a line in with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agent.team.person import UserQuestion


class ProgramPerson:
    """Asks the program that drives the session. Implements `Person`."""

    def __init__(self, write: Callable[[Mapping[str, Any]], None]) -> None:
        """write: writes one line of fields to the program"""
        self._write = write
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._asked = 0
        self._is_closed = False

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`."""
        if self._is_closed:
            return ""
        self._asked += 1
        number = f"u{self._asked}"
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._write(
            {
                "kind": "user-question",
                "id": number,
                "text": question.question,
                "options": question.options,
                "several": question.several,
            }
        )
        try:
            return question.read_answer(await answer)
        finally:
            self._waiting.pop(number, None)

    def take_answer(self, fields: Mapping[str, Any]) -> bool:
        """Take the answer to a question; False if no such question waits."""
        waiting = self._waiting.get(str(fields.get("id", "")))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(str(fields.get("text", "")))
        return True

    def close(self) -> None:
        """Leave all questions without an answer: the program is gone."""
        self._is_closed = True
        for each in self._waiting.values():
            if not each.done():
                each.set_result("")
