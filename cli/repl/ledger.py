"""What a session's turns changed and cost, followed from its log: the ground of /undo, /diff and /cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.events import End, Event, MessageEvent, Prompt, Spent
from agent.undo import Timeline


@dataclass(slots=True)
class Ledger:
    """Kept up to date by `see`; a resumed session's past is seen like its present."""

    prompts: list[str] = field(default_factory=list)
    timeline: Timeline = field(default_factory=Timeline)
    spent: Spent = field(default_factory=Spent)
    calls: int = 0
    unpriced: bool = False
    ended: bool = True

    def see(self, event: Event) -> None:
        """Take in the next event of the log."""
        self.timeline.see(event)
        match event:
            case Prompt():
                self.prompts.append(event.text)
                self.ended = False
            case End():
                self.ended = True
            case MessageEvent():
                self._add(event.usage)

    def _add(self, usage: Spent) -> None:
        self.calls += 1
        self.spent.input += usage.input
        self.spent.cached += usage.cached
        self.spent.output += usage.output
        if usage.cost is not None:
            self.spent.cost = (self.spent.cost or 0.0) + usage.cost
        elif usage.input + usage.output:
            self.unpriced = True
