"""Changes and cost of a session's turns, derived from its log; used by /undo, /diff and /cost."""

from __future__ import annotations

from dataclasses import field

from agent.events import End, Event, Prompt
from agent.session.log import Session
from agent.session.undo import Timeline
from agent.session.usage_report import UsageReport
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True)
class SessionHistory:
    """Prompts, changes and usage, kept up to date by `handle_event`; a resumed session's past events are replayed."""

    prompts: list[str] = field(default_factory=list)
    timeline: Timeline = field(default_factory=Timeline)
    bill: UsageReport = field(default_factory=UsageReport)
    ended: bool = True

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        self.timeline.handle_event(event)
        self.bill.handle_event(event)
        match event:
            case Prompt():
                self.prompts.append(event.text)
                self.ended = False
            case End():
                self.ended = True


def has_unfinished_turn(session: Session) -> bool:
    """Whether a session ends in a turn without an end event."""
    return session.replayed.find_newest_place("prompt") > session.replayed.find_newest_place("end")
