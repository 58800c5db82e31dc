"""What the events of a turn show: which tests failed, and whether anything ran since the last edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.events import ActionEvent, Event, ObservationEvent, Prompt


@dataclass(slots=True, kw_only=True)
class TurnTrace:
    """Follower of a turn's events.

    failed_before: names of tests that failed before the first edit; failed: those of any run
    has_edited: the model changed a file; ran_since: it ran a command or tests after its last edit
    """

    failed_before: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    has_edited: bool = False
    ran_since: bool = False
    _effects: dict[str, str] = field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged, or one of a resumed turn."""
        match event:
            case Prompt():
                self.failed_before.clear()
                self.failed.clear()
                self._effects.clear()
                self.has_edited = self.ran_since = False
            case ActionEvent():
                self._effects[event.call] = event.effect
            case ObservationEvent():
                self._handle_observation(event)

    def _handle_observation(self, event: ObservationEvent) -> None:
        effect = self._effects.pop(event.call, "")
        report = event.data.get("report")
        if isinstance(report, Mapping):
            names = set(_list_failed(report))
            self.failed |= names
            if not self.has_edited:
                self.failed_before |= names
        if event.call.startswith("harness-") or event.data.get("denied"):
            return
        if effect == "write":
            self.has_edited, self.ran_since = True, False
        elif effect == "execute":
            self.ran_since = True


def _list_failed(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the last names of a report's failed tests, without parameters."""
    for each in report.get("failures", ()):
        if isinstance(each, Mapping):
            yield re.split(r"::|[.#/ ]", str(each.get("id", "")).partition("[")[0])[-1]
