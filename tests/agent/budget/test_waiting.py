"""Time that a question waits for a person is not the turn's."""

from __future__ import annotations

import asyncio
import time

from agent.budget.limits import MaxTime, Tally, find_stop_reason
from agent.budget.purse import Purse


def test_the_time_inside_pauses_is_not_counted_however_they_overlap() -> None:
    tally = Tally(start_time=time.monotonic() - 10)
    with tally.pause():
        before = tally.elapsed
        with tally.pause():
            time.sleep(0.02)
        assert tally.is_waiting
        assert tally.elapsed == before
    assert not tally.is_waiting
    assert tally.waited >= 0.02
    assert 10 <= tally.elapsed < 10 + tally.waited
    assert find_stop_reason([MaxTime(10.0)], tally)


def test_an_alarm_rings_at_its_time_and_not_while_a_question_waits() -> None:
    rung: list[float] = []

    async def story() -> None:
        purse = Purse([MaxTime(0.1)])
        purse.begin_turn()
        with purse.pause():
            alarm = purse.start_alarm(lambda: rung.append(time.monotonic()))
            await asyncio.sleep(0.2)
            assert rung == []
            assert purse.find_timeout_reason() == ""
        alarm.cancel()
        alarm = purse.start_alarm(lambda: rung.append(time.monotonic()))
        began = time.monotonic()
        await asyncio.sleep(0.3)
        assert len(rung) == 1
        assert rung[0] - began < 0.25
        assert "--max-time" in purse.find_timeout_reason()
        alarm.cancel()

    asyncio.run(story())
