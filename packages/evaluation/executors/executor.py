"""Where trials run: the seam between a run of a suite and local processes, or other machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agent.events import UsageRecord
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import TrialResult

GRACE = 5.0
"""Seconds after a trial's time until its processes are killed: its own end, with a result, comes first."""


class WorkerLost(Exception):
    """The process or machine of a trial is gone, and no result came: it may be started anew. str(): how it ended

    blames_trial: whether the trial may have been the cause, as of a process; a machine goes for other reasons
    """

    def __init__(self, how: str, *, blames_trial: bool = True) -> None:
        super().__init__(how)
        self.blames_trial = blames_trial


class TrialExecutor(Protocol):
    """Runs trials. An implementation keeps nothing of them: scheduling, retries, budget and results are its caller's.

    slots: how many trials it takes at once; it may change while it runs
    """

    @property
    def slots(self) -> int: ...

    async def run(self, order: TrialOrder, on_spend: Callable[[UsageRecord], None]) -> TrialResult:
        """Run one trial; ends it, whatever it does, at most `GRACE` seconds after its time. Cancelling ends it.

        on_spend: called for each call of a model as it is made
        Raises WorkerLost.
        """
        ...

    async def close(self) -> None:
        """End everything that still runs."""
        ...
