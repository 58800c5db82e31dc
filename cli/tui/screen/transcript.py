"""The whole session as text, rendered lazily from its end backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.events import Event, MessageEvent, Prompt
from agent.session.log import Session
from cli.output.lines.full_events import FullEventView

CHUNK = 60
"""Events rendered at once: a few screens."""


class Transcript:
    """A session's events as `Pages`, newest first. session: one that is open, or the events of a log"""

    def __init__(
        self, session: Session | Sequence[Event], *, width: int, colour: bool, unicode: bool
    ) -> None:
        events = session.replayed if isinstance(session, Session) else session
        self._events: Iterator[Event] = reversed(events)
        self._how = {"width": width, "colour": colour, "unicode": unicode}

    def load_earlier_lines(self) -> list[str]:
        """Return the lines before those loaded so far; [] at the beginning."""
        while chunk := self._take_chunk():
            view = FullEventView(
                width=int(self._how["width"]),
                colour=bool(self._how["colour"]),
                unicode=bool(self._how["unicode"]),
            )
            if lines := [line for event in chunk for line in view.format_event(event)]:
                return lines
        return []

    def _take_chunk(self) -> list[Event]:
        """Return some events in order, the first a prompt or a message: no action without its message."""
        chunk: list[Event] = []
        for event in self._events:
            chunk.append(event)
            if len(chunk) >= CHUNK and isinstance(event, Prompt | MessageEvent):
                break
        return chunk[::-1]
