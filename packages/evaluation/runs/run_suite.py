"""Running a plan: as many trials at once as the executor takes, within the budget, each result kept once."""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from math import ceil, inf

from agent.events import UsageRecord
from packages.evaluation.executors.executor import TrialExecutor, WorkerLost
from packages.evaluation.runs.result_store import ResultStore, shorten_key
from packages.evaluation.runs.run_lock import LOCK, hold_lock, remove_abandoned_folders
from packages.evaluation.runs.run_plan import PlannedTrial, RunPlan
from packages.evaluation.runs.trial import describe_lost_trial
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.runs.trial_spending import TrialSpending, UserUsage
from packages.evaluation.runs.variant import RunFolders
from sandbox.lazy_dataclass import dataclass

ATTEMPTS = 3
"""Starts of a trial whose worker dies; then the trial itself is to blame, and its result says so."""

MOST_STARTS = 30
"""Starts of a trial whose machines go: no run may last forever where none stays."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run is. earlier: trials whose results were there; cost: with what was lost"""

    total: int
    earlier: int = 0
    done: int = 0
    solved: int = 0
    invalid: int = 0
    running: int = 0
    lost_workers: int = 0
    cost: float = 0.0
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)
    stopped: str = ""
    """Why trials are left, "" if none is."""

    @property
    def seconds_left(self) -> float | None:
        """Forecast of the remaining seconds, None before the first result."""
        if not self.done:
            return None
        left = self.total - self.earlier - self.done
        return (time.monotonic() - self.started) / self.done * left


class SuiteRun:
    """One run of a plan.

    max_cost: dollars of all trials of this run, those of earlier, interrupted processes included; None: no limit
    on_progress: called after each change
    """

    def __init__(
        self,
        plan: RunPlan,
        store: ResultStore,
        executor: TrialExecutor,
        folders: RunFolders,
        *,
        version: str,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._executor = executor
        self._folders = folders
        self._version = version
        self._max_cost = max_cost
        self._on_progress = on_progress
        self._highest_cost: float | None = None
        self._invocation = uuid.uuid4().hex[
            :12
        ]  # attempts of earlier processes of the run are others: pids repeat
        self._shares: dict[str, float] = {}  # dollars that each running trial may still spend, by its key
        self.invalid: list[TrialResult] = []
        """Results that say nothing about the agent: not kept, and run again the next time."""
        self.progress = Progress(total=len(plan.trials))

    async def run(self) -> Progress:
        """Run all trials that have no result yet. Cancelling ends those that run; their results are missing.

        Raises UserError if another process works on the same run, were it for another store.
        """
        run, scratch = self._plan.record, self._folders.scratch
        with self._store.hold_run(run), hold_lock(scratch / LOCK, run.id):
            await asyncio.to_thread(remove_abandoned_folders, scratch.parent)
            self._store.save_run(run)
            try:
                return await self._run_trials()
            finally:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def close(self) -> None:
        """End what the executor still runs."""
        await self._executor.close()

    async def _run_trials(self) -> Progress:
        planned = list({each.key: each for each in reversed(self._plan.trials)}.values())[::-1]
        self.progress.total = len(planned)
        waiting: deque[PlannedTrial] = deque()
        for each in planned:
            if (result := self._store.read_result(each.key)) is None:
                waiting.append(each)
            else:
                self.progress.earlier += 1
                self.progress.solved += result.solved
                self._note_cost(result)
        self.progress.cost = self._store.read_spending(self._plan.record).cost
        self.progress.started = time.monotonic()
        running: set[asyncio.Task[None]] = set()
        try:
            while waiting or running:
                while waiting and (share := self._find_share(len(waiting), len(running))):
                    following = waiting.popleft()
                    self._shares[following.key] = share
                    running.add(asyncio.create_task(self._run_trial(following, share)))
                self._report(len(running))
                if not running:
                    self.progress.stopped = f"${self.progress.cost:.2f} of ${self._max_cost:g} are spent"
                    break
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for ended in done:
                    ended.result()
        finally:
            for left in running:
                left.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self._report(0)
        return self.progress

    def _report(self, running: int) -> None:
        self.progress.running = running
        self._on_progress(self.progress)

    def _find_share(self, waiting: int, running: int) -> float:
        """Return the dollars that one more trial may spend, 0 if none may begin now.

        All that run at once share what is left, so that they cannot pass it together; none begins with less than the
        most expensive trial so far has cost. Until one has ended, no second one begins: its share would be a guess.
        """
        free = self._executor.slots - running
        if free <= 0:
            return 0.0
        if self._max_cost is None:
            return inf
        left = self._max_cost - self.progress.cost - sum(self._shares.values())
        highest = self._highest_cost
        if highest is None:
            return 0.0 if running else max(left, 0.0)
        if left <= highest:
            return 0.0
        paid = ceil(left / highest) - 1 if highest else waiting
        return left / max(1, min(free, waiting, paid))

    def _note_cost(self, result: TrialResult) -> None:
        self._highest_cost = max(self._highest_cost or 0.0, (result.cost or 0.0) + (result.user_cost or 0.0))

    async def _run_trial(self, planned: PlannedTrial, share: float) -> None:
        try:
            result = await self._try_trial(planned, share)
        finally:
            del self._shares[planned.key]
        self._note_cost(result)
        self.progress.done += 1
        self.progress.solved += result.solved
        if not result.is_valid:
            self.progress.invalid += 1
            self.invalid.append(result)

    async def _try_trial(self, planned: PlannedTrial, share: float) -> TrialResult:
        """Start a trial until a result comes; spending of starts that brought none is counted all the same."""
        total = TrialSpending()
        started = time.monotonic()
        told = ""
        deaths = 0
        attempts: list[str] = []
        for number in range(MOST_STARTS):
            if deaths == ATTEMPTS:
                break
            attempt = f"{shorten_key(planned.key)}.{self._invocation}.{number}"
            attempts.append(attempt)
            order = planned.build_order(self._folders, self._version, self._renew_share(planned.key, share))
            try:
                result = await self._executor.run(order, partial(self._spend, planned.key, attempt, total))
            except WorkerLost as lost:
                told = str(lost)
                deaths += lost.blames_trial
                self.progress.lost_workers += 1
                self._report(self.progress.running)
                continue
            return self._keep([attempt], result)
        result = describe_lost_trial(
            planned.build_order(self._folders, self._version, None),
            "crashed",
            f"its worker {told}, {deaths or MOST_STARTS} times",
            total,
            time.monotonic() - started,
        )
        return self._keep(attempts, result)  # its cost is that of all of them

    def _renew_share(self, key: str, share: float) -> float | None:
        """Return what a start of a trial may spend: as much as the first one, as far as the budget has it."""
        if self._max_cost is None:
            return None
        others = sum(self._shares.values()) - self._shares[key]
        self._shares[key] = max(0.0, min(share, self._max_cost - self.progress.cost - others))
        return self._shares[key]

    def _keep(self, attempts: Sequence[str], result: TrialResult) -> TrialResult:
        """Keep a result unless one was there first: then that one counts, and what this one cost is lost.

        attempts: those whose spending is in it
        """
        if not result.is_valid:
            return result
        if not self._store.save_result(result):
            return self._store.read_result(result.key) or result
        for attempt in attempts:
            self._store.append_journal(self._plan.record, {"what": "kept", "attempt": attempt})
        return result

    def _spend(self, key: str, attempt: str, total: TrialSpending, usage: UsageRecord) -> None:
        total.add(usage)
        self._shares[key] = max(0.0, self._shares[key] - (usage.cost or 0.0))
        self.progress.cost += usage.cost or 0.0
        self.progress.tokens += usage.input + usage.output
        tokens = usage.input + usage.output
        entry = {"what": "spend", "attempt": attempt, "cost": usage.cost, "tokens": tokens}
        if isinstance(usage, UserUsage):
            entry["user"] = True
        self._store.append_journal(self._plan.record, entry)
