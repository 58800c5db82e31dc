"""One budget for a turn with everything that it starts: children, attempts, judges.

A purse counts what its turn and all turns below it use, and what is promised but not used yet: the estimate of a call
that is under way, and the share carved out for a child. A step is taken only if this purse and all those above can
pay for it. So a limit is exceeded by at most the error of the estimates, however many children run at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from agent.budget.budget_text import Budget
from agent.budget.limits import (
    LATE,
    Limit,
    MaxCost,
    MaxTokens,
    Tally,
    build_budget_limits,
    find_stop_reason,
    find_timeout_reason,
    is_covered,
    seconds_left,
)
from agent.events import UsageRecord
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Part of a budget: dollars, and tokens of input and output."""

    dollars: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(dollars=self.dollars + other.dollars, tokens=self.tokens + other.tokens)

    def subtract(self, other: Amount) -> Amount:
        """Return what is left of this amount, never less than nothing."""
        return Amount(
            dollars=max(0.0, self.dollars - other.dollars), tokens=max(0, self.tokens - other.tokens)
        )


class Bank(Protocol):
    """The purse of another process that pays for the purses of this one."""

    has_cost_limit: bool

    def reserve(
        self, call: Amount | None, others: Amount, next_cost: float | None
    ) -> tuple[str, float | None]:
        """Reserve a call's estimate beside what others promised; None only asks whether a call may be made.

        next_cost: forecast of the call, None where the most expensive one so far is the estimate

        Returns why it may not, "" if it may, and the dollars that it may cost, None without a limit.
        """
        ...

    def spend(self, usage: UsageRecord, model: str, *, step: bool, own: bool, promised: Amount) -> None:
        """Report a call. own: of the purse that the bank pays for, not of one below; promised: to others still"""
        ...

    def promise(self, promised: Amount) -> None:
        """Report what is promised after a promise was given back."""
        ...


class Purse:
    """Budget of one turn.

    limits: of each turn with all that it starts
    parent: the purse that pays for this one, too
    share: carved out of the parent: until `close`, nobody else can spend it, and this purse no more than it
    bank: pays for a purse without a parent whose session was started by another process
    """

    def __init__(
        self,
        limits: Sequence[Limit] = (),
        parent: Purse | None = None,
        *,
        share: Amount | None = None,
        bank: Bank | None = None,
    ) -> None:
        self.limits = limits
        self._budget: Sequence[Limit] = ()
        self.tally = Tally()
        self._parent = parent
        self._bank: Bank | None = parent._bank if parent is not None else bank
        self._granted: float | None = None
        self._share = share
        self._held = Amount()
        self._children: set[Purse] = set()
        if parent is not None:
            parent._children.add(self)

    def begin_turn(self) -> None:
        """Count anew: limits hold for one turn. Those of a child hold for all its turns, like its share."""
        self.release()
        self._budget = ()
        if self._parent is None and self._bank is None:
            self.tally = Tally()

    @property
    def turn_limits(self) -> Sequence[Limit]:
        """Limits of the present turn: its own budget may be lower than those of each turn."""
        return [*self.limits, *self._budget] if self._budget else self.limits

    def limit_turn(self, budget: Budget) -> None:
        """Let a budget hold until the turn ends, as far as no lower limit does."""
        self._budget = [each for each in build_budget_limits(budget) if not is_covered(each, self.limits)]

    def open_child(self, limits: Sequence[Limit] = (), *, share: Amount | None = None) -> Purse:
        """Return a purse that this one pays for. Close it, so that what is left of its share comes back."""
        if share is not None and share.dollars:
            limits = [*limits, MaxCost(share.dollars)]
        if share is not None and share.tokens:
            limits = [*limits, MaxTokens(share.tokens)]
        return Purse(limits, self, share=share)

    def close(self) -> None:
        """Give back what was promised and not used."""
        self._held = Amount()
        self._share = None
        if self._parent is not None:
            self._parent._children.discard(self)
        if self._bank is not None:
            self._bank.promise(self._sum_all_promised())

    def add_step(self, usage: UsageRecord, model: str) -> None:
        """Count the model call of a step here and in every purse above; its estimate is settled."""
        self._held = Amount()
        self.tally.add_step(usage)
        for above in self._iterate_above():
            above.tally.steps_below += 1
            above.tally.add_usage(usage)
            above.tally.highest_call_cost = max(above.tally.highest_call_cost, usage.cost or 0.0)
        self._mark_unpriced(usage, model)
        self._report(usage, model, step=True)

    def add_usage(self, usage: UsageRecord, model: str = "") -> None:
        """Count a call outside of steps here and in every purse above."""
        for each in (self, *self._iterate_above()):
            each.tally.add_usage(usage)
        if model:
            self._mark_unpriced(usage, model)
        self._report(usage, model, step=False)

    def estimate_next_cost(self) -> float:
        """Return the forecast of the next call; where there is none, the cost of the most expensive one so far."""
        if self.tally.next_cost is not None:
            return self.tally.next_cost
        return max(each.tally.highest_call_cost for each in (self, *self._iterate_above()))

    def hold(self, estimate: Amount) -> None:
        """Reserve the estimate of the next call, in place of an earlier one; `add_step` settles it."""
        self._held = estimate

    def reserve(self, estimate: Amount) -> str:
        """Reserve the estimate of the next call, or return why it may not be made."""
        if reason := self._find_reason_here():
            return reason
        if self._bank is not None:
            others = self._sum_all_promised(excluding=self)
            reason, self._granted = self._bank.reserve(estimate, others, self.tally.next_cost)
            if reason:
                return reason
        self.hold(estimate)
        return ""

    def release(self) -> None:
        """Give back the estimate of a call that was not made, or whose use has been counted."""
        held, self._held = self._held, Amount()
        if self._bank is not None and held != self._held:
            self._bank.promise(self._sum_all_promised())

    @property
    def held(self) -> Amount:
        """Estimate of the call under way."""
        return self._held

    def find_stop_reason(self) -> str:
        """Return why the next step may not be taken, here or in a purse above; "" if it may."""
        reason = self._find_reason_here()
        if not reason and self._bank is not None:
            others = self._sum_all_promised(excluding=self)
            reason, _ = self._bank.reserve(None, others, self.tally.next_cost)
        return reason

    def _find_reason_here(self) -> str:
        for purse, tally in self._project_tallies():
            if reason := find_stop_reason(purse.turn_limits, tally):
                return reason
        return ""

    def find_timeout_reason(self) -> str:
        """Return the reason why a step was cancelled, or ""."""
        return next(
            (
                reason
                for each in (self, *self._iterate_above())
                if (reason := find_timeout_reason(each.turn_limits, each.tally))
            ),
            "",
        )

    def start_alarm(self, cancel: Callable[[], object]) -> Alarm:
        """Call `cancel` when no time is left for the step; not while a question waits for a person."""
        return Alarm(self, cancel)

    def pause(self) -> AbstractContextManager[None]:
        """Return a context in which the time of the turn is not counted: a question waits for a person."""
        return self.tally.pause()

    @property
    def is_waiting(self) -> bool:
        """Whether a question of the turn waits for a person."""
        return self.tally.is_waiting

    def compute_seconds_left(self) -> float:
        """Return the seconds after which the next step is cancelled."""
        return min(seconds_left(each.turn_limits, each.tally) for each in (self, *self._iterate_above()))

    @property
    def has_cost_limit(self) -> bool:
        """Whether a limit on cost applies, here or above."""
        return (self._bank is not None and self._bank.has_cost_limit) or any(
            isinstance(limit, MaxCost)
            for each in (self, *self._iterate_above())
            for limit in each.turn_limits
        )

    def compute_dollars_left(self) -> float | None:
        """Return the dollars that the next call may cost; None without a limit on cost."""
        left = [
            limit.dollars - (tally.usage.cost or 0.0)
            for purse, tally in self._project_tallies()
            for limit in purse.turn_limits
            if isinstance(limit, MaxCost)
        ]
        if self._granted is not None:
            left.append(self._granted)
        return min(left, default=None)

    def divide_rest(self, parts: int) -> Amount | None:
        """Return one of `parts` equal shares of what is left; None without a limit on cost or tokens."""
        dollars = self.compute_dollars_left()
        tokens = [
            limit.tokens - tally.usage.input - tally.usage.output
            for purse, tally in self._project_tallies()
            for limit in purse.turn_limits
            if isinstance(limit, MaxTokens)
        ]
        if dollars is None and not tokens:
            return None
        return Amount(
            dollars=max(0.0, dollars or 0.0) / parts, tokens=max(0, min(tokens, default=0)) // parts
        )

    def _project_tallies(self) -> Iterator[tuple[Purse, Tally]]:
        """Yield this purse and those above with what counts against their limits before our next call."""
        below: Purse | None = None
        promised = Amount()
        for purse in (self, *self._iterate_above()):
            promised += purse._sum_promised(excluding=below)
            if purse is not self:
                promised += purse._held
            spent = replace(purse.tally.usage)
            if promised.dollars or promised.tokens:
                spent.cost = (spent.cost or 0.0) + promised.dollars
                spent.input += promised.tokens
            coming = self.tally.next_cost if purse is self else self.estimate_next_cost()
            yield purse, replace(purse.tally, usage=spent, next_cost=coming)
            below = purse

    def _sum_promised(self, excluding: Purse | None = None) -> Amount:
        """Return what open children may still use without asking: their shares, or the calls they have under way."""
        total = Amount()
        for child in self._children:
            if child is excluding:
                continue
            under_way = child._held + child._sum_promised()
            if child._share is None:
                total += under_way
            else:
                used = child.tally.usage
                left = child._share.subtract(
                    Amount(dollars=used.cost or 0.0, tokens=used.input + used.output)
                )
                total += Amount(
                    dollars=max(left.dollars, under_way.dollars), tokens=max(left.tokens, under_way.tokens)
                )
        return total

    def _sum_all_promised(self, excluding: Purse | None = None) -> Amount:
        """Return what all purses of this process may use without asking the bank again; a call of `excluding` not."""
        root = [self, *self._iterate_above()][-1]
        total = root._held + root._sum_promised()
        return total if excluding is None else total.subtract(excluding._held)

    def _report(self, usage: UsageRecord, model: str, *, step: bool) -> None:
        if self._bank is not None:
            own, promised = self._parent is None, self._sum_all_promised()
            self._bank.spend(usage, model, step=step, own=own, promised=promised)

    def _mark_unpriced(self, usage: UsageRecord, model: str) -> None:
        for each in (self, *self._iterate_above()):
            each.tally.mark_unpriced(model, usage)

    def _iterate_above(self) -> Iterator[Purse]:
        above = self._parent
        while above is not None:
            yield above
            above = above._parent


class Alarm:
    """Timer of one step, which looks again when time that did not count has passed."""

    def __init__(self, purse: Purse, ring: Callable[[], object]) -> None:
        self._purse = purse
        self._ring = ring
        self._start_timer(purse.compute_seconds_left())

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _start_timer(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check_time)

    def _check_time(self) -> None:
        left = self._purse.compute_seconds_left()
        if self._purse.is_waiting:
            self._start_timer(_WAIT)
        elif left > LATE:
            self._start_timer(left)
        else:
            self._ring()


_WAIT = 1.0
"""Seconds between two looks at a question that waits."""
