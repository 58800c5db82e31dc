"""Count of replies that lead nowhere: without an action, malformed, refused, or the same again."""

from __future__ import annotations

from collections.abc import Callable

from agent.events import Event, MessageEvent, ObservationEvent, Prompt

_TELLING = frozenset({"shell", "python", "process", "run_tests"})
"""Tools whose failure tells something new: a command that fails has run."""


class IdleReplies:
    """Follows a session's events; a reply is judged when the next one is asked for.

    is_known: whether there is a tool of this name; is_weak: whether the model is small, so that refused calls count:
        of others only those that could not be read, since they learn from a refusal
    """

    def __init__(self, is_known: Callable[[str], bool], is_weak: Callable[[], bool]) -> None:
        self._is_known = is_known
        self._is_weak = is_weak
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
                each.id: f"{each.tool} {sorted(each.arguments.items())!r}"
                for each in event.actions
                if not each.problem
            }
        elif isinstance(event, ObservationEvent) and event.call in self._keys:
            key = self._keys[event.call]
            if not event.failed or self._is_telling(event):
                self._progress |= key not in self._seen
            if "diff" in event.data:
                self._seen.clear()  # the files are others now: what was asked before may be asked again
            self._seen.add(key)

    def _is_telling(self, event: ObservationEvent) -> bool:
        """Whether a failure brings the model further."""
        return event.tool in _TELLING or (self._is_known(event.tool) and not self._is_weak())

    def close_reply(self) -> int:
        """Judge the last reply, if that was not done; return how many in a row led nowhere."""
        if self._open:
            self.count = 0 if self._progress else self.count + 1
        self._open = self._progress = False
        return self.count
