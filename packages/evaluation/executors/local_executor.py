"""Trials in worker processes of this machine: each runs one at a time, and is reused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from agent.children.process import wire
from agent.children.process.process_executor import PipeChannel
from agent.events import UsageRecord
from packages.evaluation.executors.executor import GRACE, WorkerLost
from packages.evaluation.executors.result_line import decode_result_line
from packages.evaluation.runs.trial import describe_lost_trial
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.trial_spending import TrialSpending, decode_spending

_MAIN = "packages.evaluation.executors.worker_process"
PROGRAM = f"import sys; sys.path[:] = sys.argv[1:]; from {_MAIN} import main; main()"

START_PATIENCE = 120.0
"""Seconds for a worker to start: one takes less than a second, on a machine that is busy with others ten."""

_REUSES = 500
"""Trials of one worker: what a long-lived process may have gathered is given back now and then."""


class _Worker:
    """One worker process."""

    def __init__(self, channel: PipeChannel) -> None:
        self.channel = channel
        self.trials = 0


class LocalExecutor:
    """Runs trials in up to `slots` processes. Implements `TrialExecutor`.

    folder: that the workers begin in; program: Python code of a worker, with the import path as its arguments
    env: their whole environment; None: ours
    """

    def __init__(
        self, slots: int, folder: Path, program: str = PROGRAM, *, env: Mapping[str, str] | None = None
    ) -> None:
        self.slots = slots
        self._env = env
        self._folder = folder
        self._program = program
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        """See `TrialExecutor.run`."""
        worker = self._idle.pop() if self._idle else await self._start_worker()
        self._busy.add(worker)
        spent = TrialSpending()
        started = time.monotonic()

        def count(usage: UsageRecord) -> None:
            spent.add(usage)
            on_spend(usage)

        is_usable = False
        part = order.total_seconds  # seconds of what runs now
        limit = asyncio.timeout(order.total_seconds + GRACE)
        latest = asyncio.get_running_loop().time() + order.total_seconds + GRACE

        def begin_part(seconds: float) -> None:
            nonlocal part
            ends = asyncio.get_running_loop().time() + seconds + GRACE
            part = seconds if ends < latest else order.total_seconds
            limit.reschedule(min(ends, latest))

        try:
            worker.channel.write(wire.encode_message("trial", **order.encode()))
            async with limit:
                result = await self._await_result(worker, order, count, begin_part)
            worker.trials += 1
            is_usable = worker.trials < _REUSES
            return result
        except TimeoutError:
            return describe_lost_trial(
                order,
                "time-limit",
                f"ended after {part:g} s, the time of the {'task' if part == order.total_seconds else 'agent'}",
                spent,
                time.monotonic() - started,
            )
        finally:
            self._busy.discard(worker)
            if is_usable:
                self._idle.append(worker)
            else:
                await worker.channel.close()

    async def close(self) -> None:
        """See `TrialExecutor.close`."""
        workers = [*self._idle, *self._busy]
        self._idle.clear()
        await asyncio.gather(*(each.channel.close() for each in workers))

    async def _start_worker(self) -> _Worker:
        """Start a process, and wait until it takes orders: a trial's time does not count that. Raises WorkerLost."""
        channel = await PipeChannel.start(self._program, self._folder, self._env)
        try:
            async with asyncio.timeout(START_PATIENCE):
                message = wire.decode_message(await channel.read_line()) or {}
        except (TimeoutError, ValueError):
            message = {}
        except asyncio.CancelledError:
            await channel.close()
            raise
        if message.get("message") != "ready":
            raise WorkerLost(await channel.close())
        return _Worker(channel)

    async def _await_result(
        self,
        worker: _Worker,
        order: TrialOrder,
        count: Callable[[UsageRecord], None],
        begin_part: Callable[[float], None],
    ) -> TrialResult:
        try:
            while line := await worker.channel.read_line():
                message = wire.decode_message(line) or {}
                match message.get("message"):
                    case "spend":
                        count(decode_spending(message.get("usage")))
                    case "part":
                        begin_part(float(message["seconds"]))
                    case "result":
                        return await asyncio.to_thread(decode_result_line, order, message)
                    case other:
                        raise ValueError(f"message {other!r}")
        except (ValueError, KeyError) as error:
            raise WorkerLost(f"sent what is no result: {error}") from None
        raise WorkerLost(await worker.channel.close() or "ended")
