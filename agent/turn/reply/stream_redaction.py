"""Redaction of streamed text, a word or two behind: a key that arrives in parts is recognised before it is shown."""

from __future__ import annotations

from collections.abc import Callable

from agent.events import Event, MessageEvent
from agent.model.protocol import Delta, TextDelta
from sandbox.secrets.child_environment import Redactor


class StreamRedactor:
    """Forwards the deltas of a model with redacted text; the end of a message flushes the rest."""

    def __init__(self, tell: Callable[[Delta], None]) -> None:
        self._tell = tell
        self._text = Redactor()

    def handle_delta(self, delta: Delta) -> None:
        """Forward a part of a reply."""
        if not isinstance(delta, TextDelta):
            self._tell(delta)
        elif text := self._text.feed(delta.text):
            self._tell(TextDelta(text=text))

    def handle_event(self, event: Event) -> None:
        """Flush the held text at the end of a message."""
        if isinstance(event, MessageEvent):
            rest, self._text = self._text.close(), Redactor()
            if rest:
                self._tell(TextDelta(text=rest))
