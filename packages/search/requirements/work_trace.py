"""What a turn did, as lines for a reviewer: actions and the first line of their results, without any reasoning."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import field

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent
from sandbox.lazy_dataclass import dataclass

MOST = 80
"""Last actions of a turn that are kept."""

LONGEST = 200
"""Characters of the arguments and of the result."""


@dataclass(slots=True)
class WorkTrace:
    """Follower of a turn's events."""

    _asked: dict[str, str] = field(default_factory=dict)
    _rows: deque[str] = field(default_factory=lambda: deque(maxlen=MOST))

    def begin_turn(self) -> None:
        """Forget the actions of earlier turns."""
        self._asked.clear()
        self._rows.clear()

    def track_event(self, event: Event) -> None:
        """Process an event of the turn."""
        if isinstance(event, MessageEvent):
            for action in event.actions:
                self._asked[action.id] = json.dumps(dict(action.arguments), ensure_ascii=False)[:LONGEST]
        elif isinstance(event, ActionEvent) and event.arguments is not None:
            self._asked[event.call] = json.dumps(event.arguments, ensure_ascii=False)[:LONGEST]
        elif isinstance(event, ObservationEvent):
            first = next((line for line in event.text.splitlines() if line.strip()), "")
            asked = self._asked.pop(event.call, "")
            self._rows.append(
                f"{event.tool} {asked} → {'failed: ' if event.failed else ''}{first.strip()[:LONGEST]}"
            )

    def format_text(self) -> str:
        """Return one line for each action, in order."""
        return "\n".join(self._rows)
