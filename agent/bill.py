"""What a session's calls of models came to, by role and model: a view of its log."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.events import Event, MessageEvent, SideCall, Spent
from agent.model.roles import Role


@dataclass(slots=True, kw_only=True)
class Item:
    """The calls of one model in one role. unpriced: at least one had no known price, so the cost is a lower bound"""

    role: str
    model: str
    calls: int = 0
    spent: Spent = field(default_factory=Spent)
    unpriced: bool = False

    def add(self, usage: Spent) -> None:
        """Count one call."""
        self.calls += 1
        self.spent.add(usage)
        self.unpriced |= usage.cost is None and usage.input + usage.output > 0


@dataclass(slots=True)
class Bill:
    """Kept up to date by `see`."""

    total: Item = field(default_factory=lambda: Item(role="", model=""))
    _items: dict[tuple[str, str], Item] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Take in the next event of the log."""
        match event:
            case MessageEvent():
                self._add(Role.MAIN, event.model, event.usage)
            case SideCall():
                self._add(event.role, event.model, event.usage)

    @property
    def items(self) -> list[Item]:
        """The parts of the total, the main role first, then in the order in which they came."""
        return sorted(self._items.values(), key=lambda each: each.role != Role.MAIN)

    def _add(self, role: str, model: str, usage: Spent) -> None:
        item = self._items.setdefault((str(role), model), Item(role=str(role), model=model))
        item.add(usage)
        self.total.add(usage)
