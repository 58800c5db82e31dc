"""Buckets of a machine: shared by its processes, and blocked by none that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.model.rate_limits.bucket_store import BucketStore, MachineBuckets, ProcessBuckets
from agent.model.rate_limits.token_bucket import Charge, RateLimit

CHARGE = Charge(limits=(RateLimit(name="p", calls=600),), tokens=1)
"""A burst of 30 calls, then 9.5 a second."""

RARE = Charge(limits=(RateLimit(name="q", calls=1),), tokens=1)

HOLDER = """
import fcntl, os, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
held = os.open(folder / "buckets.json", os.O_RDWR | os.O_CREAT)
fcntl.flock(held, fcntl.LOCK_EX)
os.pwrite(held, b'{"p": [1', 0)
print("held", flush=True)
time.sleep(60)
"""

TAKER = """
import asyncio, sys
from pathlib import Path
from agent.model.rate_limits.bucket_store import MachineBuckets
from tests.agent.model.rate_limits.test_bucket_store import RARE
async def take():
    await MachineBuckets(Path(sys.argv[1])).take(RARE, lambda wait: None)
asyncio.run(take())
"""


def start_python(program: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        cwd=Path(__file__).parents[4],
        stdout=subprocess.PIPE,
    )


async def take_many(buckets: BucketStore, count: int) -> float:
    started, waits = time.monotonic(), list[float]()
    for _ in range(count):
        await buckets.take(CHARGE, waits.append)
    return time.monotonic() - started


@pytest.mark.slow
def test_processes_share_the_calls_of_a_machine(tmp_path: Path) -> None:
    with start_python(TAKER, tmp_path) as other:
        assert other.wait(30) == 0
    waits: list[float] = []
    taking = MachineBuckets(tmp_path).take(RARE, waits.append)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(taking, 0.05))
    assert 0 < waits[0] <= 60


@pytest.mark.slow
def test_a_killed_holder_of_the_lock_blocks_nobody(tmp_path: Path) -> None:
    holder = start_python(HOLDER, tmp_path)
    assert holder.stdout is not None
    holder.stdout.readline()
    buckets = MachineBuckets(tmp_path)

    async def take_beside_the_holder() -> float:
        taking = asyncio.create_task(take_many(buckets, 1))
        await asyncio.sleep(0.1)
        assert not taking.done()
        buckets.correct(CHARGE, 5)  # waits for nobody
        os.kill(holder.pid, signal.SIGKILL)
        return await taking

    with holder:
        assert 0.1 <= asyncio.run(take_beside_the_holder()) < 5
    assert asyncio.run(take_many(buckets, 20)) < 1


def test_a_cancelled_wait_takes_nothing(tmp_path: Path) -> None:
    async def run(buckets: BucketStore) -> float:
        await take_many(buckets, 30)
        waiting = [asyncio.create_task(take_many(buckets, 100)) for _ in range(3)]
        await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return await take_many(buckets, 1)

    for buckets in (ProcessBuckets(), MachineBuckets(tmp_path)):
        assert asyncio.run(run(buckets)) < 2


def test_without_a_place_for_the_file_each_process_has_buckets_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder" / "buckets.json").mkdir(parents=True)
    for folder in (tmp_path / "file", tmp_path / "folder"):
        buckets = MachineBuckets(folder)
        buckets.correct(CHARGE, 3)
        assert 0.05 < asyncio.run(take_many(buckets, 31)) < 5
