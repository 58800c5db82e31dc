"""Spending of a trial: calls of its session, and apart from them those of the model that plays its user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from agent.budget.limits import Limit, MaxCost, Tally
from agent.children.process import wire
from agent.events import UsageRecord
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class UserUsage(UsageRecord):
    """Usage of a call that plays the user."""

    by_user: bool = True


@dataclass(slots=True, kw_only=True)
class TrialSpending:
    """Usage so far. share: dollars that both may spend together, None without a limit"""

    share: float | None = None
    agent: UsageRecord = field(default_factory=UsageRecord)
    user: UsageRecord = field(default_factory=UsageRecord)

    def add(self, usage: UsageRecord) -> None:
        """Count a call."""
        (self.user if isinstance(usage, UserUsage) else self.agent).add(usage)

    @property
    def left(self) -> float | None:
        """Dollars that are left of the share, None without a limit."""
        if self.share is None:
            return None
        return self.share - (self.agent.cost or 0.0) - (self.user.cost or 0.0)


def lower_cost(limits: Sequence[Limit], tally: Tally, spending: TrialSpending) -> Sequence[Limit]:
    """Return the limits of a turn that runs after its user has spent a part of the share of both. tally: of the turn"""
    if spending.left is None:
        return limits
    most = max(0.0, (tally.usage.cost or 0.0) + spending.left)
    return [MaxCost(min(each.dollars, most)) if isinstance(each, MaxCost) else each for each in limits]


def decode_spending(fields: object) -> UsageRecord:
    """Return the usage of a call from JSON. Raises ValueError."""
    usage = wire.decode_usage(fields)
    is_users = isinstance(fields, dict) and fields.get("by_user") is True
    return UserUsage(**vars(usage)) if is_users else usage
