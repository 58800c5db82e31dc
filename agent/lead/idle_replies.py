"""Count of replies that lead nowhere: without an action, malformed, refused, or the same again."""

from __future__ import annotations

from agent.events import Event, MessageEvent, ObservationEvent, Prompt


class IdleReplies:
    """Follows a session's events; a reply is judged when the next one is asked for."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.count = 0
        self._open = False
        self._progress = False
        self._keys: dict[str, str] = {}  # call → the action as text
        self._seen: set[str] = set()

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        if isinstance(event, Prompt):
            self._begin()
        elif isinstance(event, MessageEvent):
            self.close_reply()
            self._open = True
            self._keys = {
                each.id: f"{each.tool} {sorted(each.arguments.items())!r}" for each in event.actions
            }
        elif isinstance(event, ObservationEvent) and event.call in self._keys and not event.failed:
            key = self._keys[event.call]
            self._progress |= key not in self._seen
            if "diff" in event.data:
                self._seen.clear()  # the files are others now: what was asked before may be asked again
            self._seen.add(key)

    def close_reply(self) -> int:
        """Judge the last reply, if that was not done; return how many in a row led nowhere."""
        if self._open:
            self.count = 0 if self._progress else self.count + 1
        self._open = self._progress = False
        return self.count
