"""Limits of a turn: small objects that are asked before each step and answer with one of a few words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.events import UsageRecord
from agent.model.protocol import UNPAID

_A_DAY = 86_400.0
"""Seconds that a step may take where no limit says less: longer than any that is still wanted."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a turn has used so far.

    dearest: cost of the dearest call yet; next_cost: what the next one will cost, None if that cannot be told
    last: what the last step used
    unpriced: a model that has answered, and nobody knows at what cost
    """

    steps: int = 0
    spent: UsageRecord = field(default_factory=UsageRecord)
    started: float = field(default_factory=time.monotonic)
    dearest: float = 0.0
    next_cost: float | None = None
    last: UsageRecord | None = None
    unpriced: str = ""

    def add_step(self, usage: UsageRecord) -> None:
        """Count one step's call of a model."""
        self.steps += 1
        self.last = usage
        self.add_usage(usage)
        if usage.cost is not None:
            self.dearest = max(self.dearest, usage.cost)

    def add_usage(self, usage: UsageRecord) -> None:
        """Count a call that is no step."""
        self.spent.add(usage)

    def mark_unpriced(self, model: str, usage: UsageRecord) -> None:
        """Remember that a call which `model` has answered is missing in the costs."""
        if usage.cost is None and not model.startswith(UNPAID):
            self.unpriced = model


class Limit(Protocol):
    """Says why the next step must not be taken, or ""."""

    def before_step(self, tally: Tally) -> str: ...


@dataclass(frozen=True, slots=True)
class MaxSteps:
    """Calls of the model in one turn."""

    steps: int

    def before_step(self, tally: Tally) -> str:
        return f"{self.steps} steps taken (--max-steps)" if tally.steps >= self.steps else ""


@dataclass(frozen=True, slots=True)
class MaxTime:
    """Seconds of wall time in one turn."""

    seconds: float

    def before_step(self, tally: Tally) -> str:
        passed = time.monotonic() - tally.started
        return f"{passed:.0f} s passed of {self.seconds:g} s (--max-time)" if passed >= self.seconds else ""


@dataclass(frozen=True, slots=True)
class MaxTokens:
    """Input and output tokens of one turn."""

    tokens: int

    def before_step(self, tally: Tally) -> str:
        used = tally.spent.input + tally.spent.output
        return f"{used} tokens used of {self.tokens} (--max-tokens)" if used >= self.tokens else ""


@dataclass(frozen=True, slots=True)
class MaxCost:
    """Dollars of one turn: stops before the call that would pass the limit, never after it.

    And after a call whose cost is not known: what is not counted cannot be kept below a limit.
    """

    dollars: float

    def before_step(self, tally: Tally) -> str:
        if tally.unpriced:
            return f"the cost of what {tally.unpriced} answered is not known (--max-cost)"
        cost = tally.spent.cost or 0.0
        coming = tally.dearest if tally.next_cost is None else tally.next_cost
        if cost + coming <= self.dollars and not (cost and cost >= self.dollars):
            return ""
        next_one = "" if tally.next_cost is None else f", the next call would cost about ${coming:.4f}"
        return f"${cost:.4f} spent of ${self.dollars:g}{next_one} (--max-cost)"


def find_stop_reason(limits: Sequence[Limit], tally: Tally) -> str:
    """Why to stop, or ""."""
    return next((reason for limit in limits if (reason := limit.before_step(tally))), "")


def seconds_left(limits: Sequence[Limit], tally: Tally) -> float:
    """How long the next step may take before it is stopped in its middle."""
    passed = time.monotonic() - tally.started
    times = [limit.seconds - passed for limit in limits if isinstance(limit, MaxTime)]
    return max(0.0, min(times, default=_A_DAY)) + 0.01  # a timer may fire a clock's tick too early


def find_timeout_reason(limits: Sequence[Limit], tally: Tally) -> str:
    """Why a step was stopped in its middle, or ""."""
    return find_stop_reason([limit for limit in limits if isinstance(limit, MaxTime)], tally)
