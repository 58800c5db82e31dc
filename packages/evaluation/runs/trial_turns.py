"""The turns of one trial: the prompt and its follow-ups, within the task's limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from agent.budget.limits import Tally, build_limits
from agent.events import End, UsageRecord
from agent.exit_codes import Exit
from agent.model.rate_limits.queue_pause import stop_clock_while_queued
from agent.session_settings import LimitSettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from agent.turn.turn_verdict import BELIED_CLAIMS, TESTS_EVADED
from packages.evaluation.runs.model_user import ModelUser
from packages.evaluation.runs.trial_order import MOST_QUEUED
from packages.evaluation.runs.trial_result import FailureClass
from packages.evaluation.runs.trial_spending import TrialSpending
from packages.evaluation.tasks.task_file import TaskLimits
from packages.evaluation.tasks.task_folder import Task
from sandbox.errors import Fault, UserError

_LOOK = 0.2
"""Seconds between two looks at a clock that is stopped."""

BY_EXIT: Mapping[int, FailureClass] = {
    Exit.TESTS_FAIL: "tests-fail",
    Exit.NOTHING_TO_DO: "gave-up",
    Exit.NOT_ACHIEVED: "gave-up",
    Exit.NO_TEST_RUNNER: "wrong",
    Exit.LIMIT: "limit",
    Exit.DENIED: "denied",
    Exit.MODEL_UNREACHABLE: "model-unreachable",
    Exit.CREDENTIALS: "credentials",
    Exit.CONFIGURATION: "configuration",
    Exit.NOT_A_REPOSITORY: "configuration",
    Exit.USAGE: "configuration",
    Exit.STORAGE_FULL: "storage",
    Exit.READ_ONLY: "storage",
    Exit.INTERNAL: "internal",
    Exit.INTERRUPTED: "crashed",
}

BY_REASON: Mapping[str, FailureClass] = {TESTS_EVADED: "tests-fail", **dict.fromkeys(BELIED_CLAIMS, "wrong")}
"""Classes of turns that are not achieved for a reason that the agent did not give."""

HONEST = frozenset(("wrong", "tests-fail", "gave-up", "denied"))
"""Classes of a turn that the agent ended by itself: with no change of files, a refusal."""


class AgentClock:
    """Time of the agent, without that in which calls wait for their turn under a rate limit.

    seconds: that it has; on_part: see `run_trial`, called at each wait so that nobody ends the trial amid one
    """

    def __init__(self, runtime: Runtime, seconds: float, on_part: Callable[[float], None]) -> None:
        self._runtime = runtime
        self._seconds = seconds
        self._on_part = on_part
        self._tally = Tally()

    @property
    def seconds_left(self) -> float:
        """Seconds that are left."""
        return self._seconds - self._tally.elapsed

    @property
    def seconds_queued(self) -> float:
        """Seconds of all waits so far."""
        return time.monotonic() - self._tally.start_time - self._tally.elapsed

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Count no time inside, neither here nor in the limits of the turn."""
        self._on_part(self.seconds_left + max(0.0, MOST_QUEUED - self.seconds_queued))
        try:
            with self._tally.pause(), self._runtime.purse.pause():
                yield
        finally:
            if not self._tally.is_waiting:
                self._on_part(max(0.0, self.seconds_left))

    @contextmanager
    def limit_turn(self) -> Iterator[None]:
        """Stop a turn that runs inside once no time is left, or calls have waited for too long."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            if self.seconds_left <= 0 or self.seconds_queued >= MOST_QUEUED:
                self._runtime.stop()
            else:
                timer = loop.call_later(_LOOK if self._tally.is_waiting else self.seconds_left, look)

        timer = loop.call_later(max(self.seconds_left, 0.0), look)
        try:
            yield
        finally:
            timer.cancel()

    def check_queue(self) -> None:
        """Raise UserError if calls have waited for too long."""
        if self.seconds_queued >= MOST_QUEUED:
            raise UserError(
                Fault.MODEL_UNREACHABLE,
                f"calls waited {self.seconds_queued:.0f} s for their turn under a rate limit",
                "Run fewer trials at once (--jobs), or raise the limits in [models.limits].",
            )


async def run_turns(
    runtime: Runtime,
    task: Task,
    limits: LimitSettings,
    user: ModelUser | None,
    clock: AgentClock,
    spending: TrialSpending,
) -> list[End]:
    """Run the prompt, then the follow-ups while the turns end by themselves; all within the task's limits, and with
    what its user spends within its share of the run's budget.

    Raises UserError if the user could not be played, or calls waited for too long.
    """
    ends: list[End] = []
    prompts = [task.prompt, *task.file.user.follow_ups]
    with stop_clock_while_queued(clock.pause):
        while prompts:
            prompt = prompts.pop(0)
            left = _subtract_spending(limits, ends, clock.seconds_left, spending)
            if left is None:
                ends[-1] = _mark_limit(ends[-1])
                break
            runtime.purse.limits = build_limits(left)
            work = choose_work(runtime, runtime.settings.strategy, prompt)
            with clock.limit_turn():
                ends.append(await runtime.run_turn(prompt, work))
            clock.check_queue()
            if user is not None and user.problem is not None:
                raise user.problem
            if BY_EXIT.get(ends[-1].exit_code, "wrong") not in HONEST:
                break
            if user is not None:
                prompts += await user.list_follow_ups(ends, clock.seconds_left)
                if user.is_out_of_time:
                    ends[-1] = _mark_limit(ends[-1])
    if clock.seconds_left <= 0 and ends[-1].exit_code == Exit.INTERRUPTED:
        ends[-1] = _mark_limit(ends[-1])
    return ends


def _mark_limit(end: End) -> End:
    return replace(end, exit_code=Exit.LIMIT, outcome=Exit.LIMIT.label, reason=None)


def _subtract_spending(
    limits: LimitSettings, ends: Sequence[End], seconds: float, spending: TrialSpending
) -> LimitSettings | None:
    """Return what earlier turns left of the limits, None if one of them is used up."""
    usage = UsageRecord()
    for end in ends:
        usage.add(end.usage)
    steps = limits.max_steps - sum(each.steps for each in ends)
    own = None if limits.max_cost is None else limits.max_cost - (usage.cost or 0.0)
    cost = min((each for each in (own, spending.left) if each is not None), default=None)
    tokens = None if limits.max_tokens is None else limits.max_tokens - usage.input - usage.output
    if ends and any(each is not None and each <= 0 for each in (steps, seconds, cost, tokens)):
        return None
    return LimitSettings(max_steps=steps, max_time=max(seconds, 0.0), max_cost=cost, max_tokens=tokens)


def lower_limits(own: LimitSettings, task: TaskLimits, left: float | None) -> LimitSettings:
    """Return the lower of both limits, each."""
    costs = [each for each in (own.max_cost, task.cost, left) if each is not None]
    tokens = [each for each in (own.max_tokens, task.tokens) if each is not None]
    return LimitSettings(
        max_steps=min(own.max_steps, task.steps),
        max_time=min(own.max_time, task.seconds),
        max_cost=min(costs) if costs else None,
        max_tokens=min(tokens) if tokens else None,
    )
