"""Attempts side by side: none that ended is lost to the choice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from agent.strategy.candidate import Candidate
from agent.strategy.race import race_attempts


class Log:
    """A log that keeps appended events, and has no others."""

    def __init__(self) -> None:
        self.added: list[Any] = []
        self.replayed = self

    def append(self, event: Any) -> None:
        self.added.append(event)

    def find_newest_place(self, kind: str) -> int:
        return 1

    def read_events_from(self, place: str) -> list[Any]:
        return []


def test_an_attempt_that_ends_while_the_stop_is_decided_is_kept() -> None:
    async def race() -> list[int]:
        log = Log()
        turn: Any = SimpleNamespace(surplus="", runtime=SimpleNamespace(session=log))
        decided = asyncio.Event()

        async def attempt(number: int) -> Candidate:
            if number == 2:
                await decided.wait()
            if number == 3:
                await asyncio.Event().wait()
            return Candidate(attempt=number, report="not needed any more: the model says so")

        async def find_stop(made: Sequence[Candidate]) -> str:
            decided.set()
            for _ in range(3):
                await asyncio.sleep(0)
            return "enough"

        attempts = {number: (lambda number=number: attempt(number)) for number in (1, 2, 3)}
        made = await race_attempts(turn, attempts, find_stop)
        assert [each.detail for each in log.added] == ["2 of 3 attempts are enough: enough"]
        return [each.attempt for each in made]

    assert asyncio.run(race()) == [1, 2]
