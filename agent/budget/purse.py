"""One budget for a turn with everything that it starts: children, attempts, judges.

A purse counts what its turn and all turns below it use, and what is promised but not used yet: the estimate of a call
that is under way, and the share carved out for a child. A step is taken only if this purse and all those above can
pay for it. So a limit is exceeded by at most the error of the estimates, however many children run at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agent.budget.limits import (
    Limit,
    MaxCost,
    MaxTokens,
    Tally,
    find_stop_reason,
    find_timeout_reason,
    seconds_left,
)
from agent.events import UsageRecord


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


class Purse:
    """Budget of one turn.

    limits: of this turn with all that it starts
    parent: the purse that pays for this one, too
    share: carved out of the parent: until `close`, nobody else can spend it, and this purse no more than it
    """

    def __init__(
        self, limits: Sequence[Limit] = (), parent: Purse | None = None, *, share: Amount | None = None
    ) -> None:
        self.limits = limits
        self.tally = Tally()
        self._parent = parent
        self._share = share
        self._held = Amount()
        self._children: set[Purse] = set()
        if parent is not None:
            parent._children.add(self)

    def begin_turn(self) -> None:
        """Count anew: limits hold for one turn. Those of a child hold for all its turns, like its share."""
        self._held = Amount()
        if self._parent is None:
            self.tally = Tally()

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

    def add_step(self, usage: UsageRecord, model: str) -> None:
        """Count the model call of a step here and in every purse above; its estimate is settled."""
        self._held = Amount()
        self.tally.add_step(usage)
        for above in self._iterate_above():
            above.tally.steps_below += 1
            above.tally.add_usage(usage)
            above.tally.highest_call_cost = max(above.tally.highest_call_cost, usage.cost or 0.0)
        self._mark_unpriced(usage, model)

    def add_usage(self, usage: UsageRecord, model: str = "") -> None:
        """Count a call outside of steps here and in every purse above."""
        for each in (self, *self._iterate_above()):
            each.tally.add_usage(usage)
        if model:
            self._mark_unpriced(usage, model)

    def estimate_next_cost(self) -> float:
        """Return the forecast of the next call; where there is none, the cost of the most expensive one so far."""
        if self.tally.next_cost is not None:
            return self.tally.next_cost
        return max(each.tally.highest_call_cost for each in (self, *self._iterate_above()))

    def hold(self, estimate: Amount) -> None:
        """Reserve the estimate of the next call, in place of an earlier one; `add_step` settles it."""
        self._held = estimate

    def release(self) -> None:
        """Give back the estimate of a call that was not made, or whose use has been counted."""
        self._held = Amount()

    def find_stop_reason(self) -> str:
        """Return why the next step may not be taken, here or in a purse above; "" if it may."""
        for purse, tally in self._project_tallies():
            if reason := find_stop_reason(purse.limits, tally):
                return reason
        return ""

    def find_timeout_reason(self) -> str:
        """Return the reason why a step was cancelled, or ""."""
        return next(
            (
                reason
                for each in (self, *self._iterate_above())
                if (reason := find_timeout_reason(each.limits, each.tally))
            ),
            "",
        )

    def compute_seconds_left(self) -> float:
        """Return the seconds after which the next step is cancelled."""
        return min(seconds_left(each.limits, each.tally) for each in (self, *self._iterate_above()))

    @property
    def has_cost_limit(self) -> bool:
        """Whether a limit on cost applies, here or above."""
        return any(
            isinstance(limit, MaxCost) for each in (self, *self._iterate_above()) for limit in each.limits
        )

    def compute_dollars_left(self) -> float | None:
        """Return the dollars that the next call may cost; None without a limit on cost."""
        left = [
            limit.dollars - (tally.usage.cost or 0.0)
            for purse, tally in self._project_tallies()
            for limit in purse.limits
            if isinstance(limit, MaxCost)
        ]
        return min(left, default=None)

    def divide_rest(self, parts: int) -> Amount | None:
        """Return one of `parts` equal shares of what is left; None without a limit on cost or tokens."""
        dollars = self.compute_dollars_left()
        tokens = [
            limit.tokens - tally.usage.input - tally.usage.output
            for purse, tally in self._project_tallies()
            for limit in purse.limits
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
                total += left if left.dollars >= under_way.dollars else under_way
        return total

    def _mark_unpriced(self, usage: UsageRecord, model: str) -> None:
        for each in (self, *self._iterate_above()):
            each.tally.mark_unpriced(model, usage)

    def _iterate_above(self) -> Iterator[Purse]:
        above = self._parent
        while above is not None:
            yield above
            above = above._parent
