"""Limits of a turn: small objects that are checked before each step and return a reason to stop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Protocol

from agent.budget.budget_text import NO_BUDGET, Budget
from agent.events import UsageRecord
from agent.model.protocol import UNPAID
from agent.session_settings import LimitSettings
from sandbox.lazy_dataclass import dataclass

_A_DAY = 86_400.0
"""Maximum seconds of a step where no lower limit applies: longer than any useful step."""

LATE = 0.01
"""Seconds after its time at which a step is cancelled: a timer may fire one clock tick early."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """Usage of a turn so far, with everything that it started.

    steps: of the turn itself; steps_below: of its children
    highest_call_cost: cost of the most expensive call; next_cost: forecast of the next call, None if unknown
    last_usage: usage of the last step
    unpriced_model: a model that answered at unknown cost
    waited: seconds that questions have waited for a person, who is not on the turn's time
    """

    steps: int = 0
    steps_below: int = 0
    usage: UsageRecord = field(default_factory=UsageRecord)
    start_time: float = field(default_factory=time.monotonic)
    highest_call_cost: float = 0.0
    next_cost: float | None = None
    last_usage: UsageRecord | None = None
    unpriced_model: str = ""
    waited: float = 0.0
    _waits_since: float | None = None
    _questions: int = 0

    @property
    def elapsed(self) -> float:
        """Seconds of the turn so far, those of a question that waits now not counted."""
        now = time.monotonic() if self._waits_since is None else self._waits_since
        return now - self.start_time - self.waited

    @property
    def is_waiting(self) -> bool:
        """Whether a question waits for a person."""
        return self._waits_since is not None

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do not count the time inside the context; several may be open at once."""
        self._questions += 1
        if self._waits_since is None:
            self._waits_since = time.monotonic()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self.waited += time.monotonic() - self._waits_since
                self._waits_since = None

    def add_step(self, usage: UsageRecord) -> None:
        """Count the model call of one step."""
        self.steps += 1
        self.last_usage = usage
        self.add_usage(usage)
        if usage.cost is not None:
            self.highest_call_cost = max(self.highest_call_cost, usage.cost)

    def add_usage(self, usage: UsageRecord) -> None:
        """Count a call outside of steps."""
        self.usage.add(usage)

    def mark_unpriced(self, model: str, usage: UsageRecord) -> None:
        """Record that a call answered by `model` is missing in the costs."""
        if usage.cost is None and not model.startswith(UNPAID):
            self.unpriced_model = model


class Limit(Protocol):
    """A condition to stop: returns the reason not to take the next step, or ""."""

    def before_step(self, tally: Tally) -> str: ...


@dataclass(frozen=True, slots=True)
class MaxSteps:
    """Limit on steps of one turn. Children have limits of their own: steps, unlike money or time, are not shared."""

    steps: int

    def before_step(self, tally: Tally) -> str:
        return f"{tally.steps} steps taken (--max-steps)" if tally.steps >= self.steps else ""


@dataclass(frozen=True, slots=True)
class MaxTime:
    """Limit on wall time of one turn, in seconds. option: the one that set it"""

    seconds: float
    option: str = "--max-time"

    def before_step(self, tally: Tally) -> str:
        passed = tally.elapsed
        return (
            f"{passed:.0f} s passed of {self.seconds:g} s ({self.option})" if passed >= self.seconds else ""
        )


@dataclass(frozen=True, slots=True)
class MaxTokens:
    """Limit on input and output tokens of one turn. option: the one that set it"""

    tokens: int
    option: str = "--max-tokens"

    def before_step(self, tally: Tally) -> str:
        used = tally.usage.input + tally.usage.output
        return f"{used} tokens used of {self.tokens} ({self.option})" if used >= self.tokens else ""


@dataclass(frozen=True, slots=True)
class MaxCost:
    """Limit on the cost of one turn in dollars: stops before the call that would exceed it, never after it.

    It also stops after a call of unknown cost, since an uncounted cost cannot be kept below a limit.
    option: the one that set it
    """

    dollars: float
    option: str = "--max-cost"

    def before_step(self, tally: Tally) -> str:
        if tally.unpriced_model:
            return f"the cost of what {tally.unpriced_model} answered is not known ({self.option})"
        cost = tally.usage.cost or 0.0
        coming = tally.highest_call_cost if tally.next_cost is None else tally.next_cost
        if cost + coming <= self.dollars and not (cost and cost >= self.dollars):
            return ""
        next_one = "" if tally.next_cost is None else f", the next call would cost about ${coming:.4f}"
        return f"${cost:.4f} spent of ${self.dollars:g}{next_one} ({self.option})"


def build_limits(settings: LimitSettings, budget: Budget = NO_BUDGET) -> Sequence[Limit]:
    """Return the limits in the settings.

    budget: applied to the settings before; those limits that are its own name it as their option
    """

    def name(own: bool, option: str) -> str:
        return "--budget" if own else option

    found: list[Limit] = [
        MaxSteps(settings.max_steps),
        MaxTime(settings.max_time, name(settings.max_time == budget.seconds, "--max-time")),
    ]
    if settings.max_cost is not None:
        found.append(MaxCost(settings.max_cost, name(settings.max_cost == budget.dollars, "--max-cost")))
    if settings.max_tokens is not None:
        own = settings.max_tokens == budget.tokens
        found.append(MaxTokens(settings.max_tokens, name(own, "--max-tokens")))
    return found


def build_budget_limits(budget: Budget) -> Sequence[Limit]:
    """Return the limits that a budget names."""
    option, found = "--budget", list[Limit]()
    if budget.seconds is not None:
        found.append(MaxTime(budget.seconds, option))
    if budget.dollars is not None:
        found.append(MaxCost(budget.dollars, option))
    if budget.tokens is not None:
        found.append(MaxTokens(budget.tokens, option))
    return found


def is_covered(limit: Limit, others: Sequence[Limit]) -> bool:
    """Return whether another limit on the same thing is as low."""
    match limit:
        case MaxTime(most):
            return any(isinstance(each, MaxTime) and each.seconds <= most for each in others)
        case MaxCost(most):
            return any(isinstance(each, MaxCost) and each.dollars <= most for each in others)
        case MaxTokens(most):
            return any(isinstance(each, MaxTokens) and each.tokens <= most for each in others)
        case _:
            return False


def find_stop_reason(limits: Sequence[Limit], tally: Tally) -> str:
    """Return the reason to stop, or ""."""
    return next((reason for limit in limits if (reason := limit.before_step(tally))), "")


def seconds_left(limits: Sequence[Limit], tally: Tally) -> float:
    """Return the seconds after which the next step is cancelled."""
    times = [limit.seconds - tally.elapsed for limit in limits if isinstance(limit, MaxTime)]
    return max(0.0, min(times, default=_A_DAY)) + LATE


def find_timeout_reason(limits: Sequence[Limit], tally: Tally) -> str:
    """Return the reason why a step was cancelled, or ""."""
    return find_stop_reason([limit for limit in limits if isinstance(limit, MaxTime)], tally)
