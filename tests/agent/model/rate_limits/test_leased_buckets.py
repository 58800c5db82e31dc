"""Leases of a node: what the cluster grants may be sent, and dead processes give back theirs."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from agent.model.rate_limits.leased_buckets import (
    LeasedBuckets,
    LeaseRequest,
    decode_lease_request,
    serve_leases,
)
from agent.model.rate_limits.token_bucket import Charge, RateLimit
from packages.scale.cluster.ray_rates import RateKeeper

CHARGE = Charge(limits=(RateLimit(name="p", calls=60),), tokens=10)


class Cluster:
    """Answers questions: grants as many calls as it has."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.asked: list[LeaseRequest] = []
        self.is_away = False

    async def ask(self, request: LeaseRequest) -> Sequence[float] | None:
        self.asked.append(decode_lease_request(json.loads(json.dumps(request.encode()))))
        if self.is_away:
            self.is_away = False
            return None
        waits = []
        for _ in request.calls:
            waits.append(0.0 if self.calls > 0 else 1.0)
            self.calls -= 1
        return waits


def run_beside(folder: Path, cluster: Cluster, work: Callable[[LeasedBuckets], Awaitable[None]]) -> None:
    async def run() -> None:
        serving = [asyncio.create_task(serve_leases(folder, cluster.ask)) for _ in range(2)]
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await work(LeasedBuckets(folder))
        for each in serving:
            each.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    asyncio.run(run())


def test_calls_go_when_they_are_granted_and_are_asked_for_together(tmp_path: Path) -> None:
    cluster = Cluster(calls=3)
    cluster.is_away = True

    async def work(buckets: LeasedBuckets) -> None:
        taking = [asyncio.create_task(buckets.take(CHARGE, lambda wait: None)) for _ in range(4)]
        done, waiting = await asyncio.wait(taking, timeout=1.5)
        assert (len(done), len(waiting)) == (3, 1)
        waiting.pop().cancel()
        buckets.correct(CHARGE, -4)
        while not any(each.used for each in cluster.asked):
            await asyncio.sleep(0.05)

    run_beside(tmp_path / "leases", cluster, work)
    assert max(len(each.calls) for each in cluster.asked) == 4
    assert [each.used for each in cluster.asked if each.used] == [[(CHARGE, -4)]]
    assert [each.name for each in (tmp_path / "leases").iterdir()] == ["served.lock"]


def test_what_a_dead_process_had_is_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "leases"
    folder.mkdir()
    for name in ("waits.ticket", "had.granted"):
        (folder / name).write_text(json.dumps(CHARGE.encode()))
        os.utime(folder / name, (time.time() - 60,) * 2)
    (folder / "junk.used").write_text('["no charge"]')
    (folder / "endless.ticket").write_text('{"limits": [], "tokens": Infinity}')
    (folder / "text.ticket").write_text('{"limits": [{"name": "p", "calls": "many"}], "tokens": 1}')
    os.mkfifo(folder / "pipe.ticket")
    (folder / "folder.ticket").mkdir()
    cluster = Cluster(calls=1)

    async def work(buckets: LeasedBuckets) -> None:
        await buckets.take(CHARGE, lambda wait: None)

    run_beside(folder, cluster, work)
    assert [each.unused for each in cluster.asked if each.unused] == [[CHARGE]]
    assert sum(len(each.calls) for each in cluster.asked) == 1
    assert {each.name for each in folder.iterdir()} == {"served.lock", "folder.ticket"}


def test_a_question_whose_answer_is_lost_counts_once(tmp_path: Path) -> None:
    charge = Charge(limits=(RateLimit(name="p", calls=600, tokens=60),), tokens=1)
    keeper, lost = RateKeeper(), [True, True]

    async def ask(request: LeaseRequest) -> Sequence[float] | None:
        answer = keeper.grant(json.loads(json.dumps(request.encode())))
        return None if lost and lost.pop() else answer

    async def work() -> None:
        folder = tmp_path / "leases"
        serving = asyncio.create_task(serve_leases(folder, ask))
        await asyncio.sleep(0)
        buckets = LeasedBuckets(folder)
        await buckets.take(charge, lambda wait: None)
        assert keeper._buckets.levels["p"][0] > 28, "one call of thirty"
        lost.append(True)
        buckets.correct(charge, 1_000)
        while list(folder.glob("*.used")):
            await asyncio.sleep(0.02)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(asyncio.wait_for(work(), 20))
    assert not lost
    assert -1_000 < keeper._buckets.levels["p"][1] < -900


def test_tokens_that_cannot_be_noted_lose_no_reply(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    LeasedBuckets(tmp_path / "file").correct(CHARGE, 5)
    LeasedBuckets(tmp_path / "gone").correct(CHARGE, 5)


def test_a_process_that_was_stopped_for_long_asks_again(tmp_path: Path) -> None:
    cluster = Cluster(calls=0)

    async def work(buckets: LeasedBuckets) -> None:
        taking = asyncio.create_task(buckets.take(CHARGE, lambda wait: None))
        while not cluster.asked:
            await asyncio.sleep(0.01)
        for ticket in (tmp_path / "leases").glob("*.ticket"):
            ticket.unlink()
        cluster.calls = 1
        await taking

    run_beside(tmp_path / "leases", cluster, work)
