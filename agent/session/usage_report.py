"""Token usage and cost of a session, by role and model: a view of its log."""

from __future__ import annotations

from dataclasses import field

from agent.events import BY_STRATEGY, ChildEvent, Event, MessageEvent, SideCall, UsageRecord
from agent.model.routing.roles import Role
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class UsageItem:
    """The calls of one model in one role.

    has_unpriced_calls: at least one had no known price, so the cost is a lower bound
    """

    role: str
    model: str
    calls: int = 0
    usage: UsageRecord = field(default_factory=UsageRecord)
    has_unpriced_calls: bool = False

    def add_call(self, usage: UsageRecord) -> None:
        """Add one call."""
        self.calls += 1
        self.usage.add(usage)
        self.has_unpriced_calls |= usage.cost is None and usage.input + usage.output > 0


@dataclass(slots=True)
class UsageReport:
    """Usage totals, updated by `handle_event`."""

    total: UsageItem = field(default_factory=lambda: UsageItem(role="", model=""))
    _items: dict[tuple[str, str], UsageItem] = field(default_factory=dict)
    _children: dict[str, UsageRecord] = field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case MessageEvent() if event.model.startswith(BY_STRATEGY):
                pass
            case ChildEvent(state="ended"):
                self._add_child(event)
            case MessageEvent():
                self._add_call(Role.MAIN, event.model, event.usage)
            case SideCall():
                self._add_call(event.role, event.model, event.usage)

    def _add_child(self, event: ChildEvent) -> None:
        """Add what a child used since its last turn; its logged usage is that of all its turns."""
        before = self._children.get(event.child, UsageRecord())
        self._children[event.child] = event.usage
        names = ("input", "cached", "output", "reasoning", "seconds")
        used = {name: getattr(event.usage, name) - getattr(before, name) for name in names}
        cost = None if event.usage.cost is None else event.usage.cost - (before.cost or 0.0)
        self._add_call("children", "child sessions", UsageRecord(**used, cost=cost))

    @property
    def items(self) -> list[UsageItem]:
        """The parts of the total, the main role first, the others in order of first use."""
        return sorted(self._items.values(), key=lambda each: each.role != Role.MAIN)

    def _add_call(self, role: str, model: str, usage: UsageRecord) -> None:
        item = self._items.setdefault((str(role), model), UsageItem(role=str(role), model=model))
        item.add_call(usage)
        self.total.add_call(usage)
