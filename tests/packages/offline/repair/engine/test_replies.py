"""Replies of the workers: a search that is stopped stops, however many replies come at that moment."""

from __future__ import annotations

import asyncio

import pytest

from packages.offline.repair.engine.validation.worker_process import Replies

REPLY = {"kind": "verdict", "from": "patched"}


@pytest.mark.parametrize("rounds", range(6))
def test_a_cancellation_that_meets_a_reply_is_not_lost(rounds: int) -> None:
    async def stop_search() -> bool:
        replies = Replies()
        searching = asyncio.create_task(replies.next(60.0))
        await asyncio.sleep(0)
        replies.put(REPLY)
        for _ in range(rounds):  # of the event loop
            await asyncio.sleep(0)
        is_over = searching.done()
        searching.cancel()
        await asyncio.wait([searching])
        return searching.cancelled() or (is_over and searching.result() == REPLY)

    assert asyncio.run(stop_search())


def test_no_reply_within_the_time_is_none() -> None:
    async def ask() -> tuple[object, object]:
        replies = Replies()
        late = await replies.next(0.01)
        replies.put(REPLY)
        return late, await replies.next(0.0)

    assert asyncio.run(ask()) == (None, REPLY)
