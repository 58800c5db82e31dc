"""The far past of a long log that was never shortened (an import, say): left unread, as a summary takes its place.

Read are the steps that may stay whole, what people said, and what facts are read off: replies, plans, notes, tests and
what was changed. What an old step only looked at is left where it is; `recall` finds it there.
"""

from __future__ import annotations

from agent.context.facts import Facts
from agent.context.projection import NEVER_SENT, Projection
from agent.history import History
from agent.log_index import place

FAR = 4 * NEVER_SENT
"""Bytes of a log from which on this is done: one of that length is read whole in a fifth of a second."""

SHORTENING = ("compaction", "compaction+", "compaction*")

STEPS = ("message", "prompt")
"""What a step, or what is said between two, begins with."""


def newest_part(history: History) -> int:
    """Place of the first event that has to be read whole; 0: of a log like this all have to be."""
    if history.newest(*SHORTENING) or history.bytes() <= FAR:
        return 0
    start = history.oldest(*STEPS, after=history.tail(NEVER_SENT))
    return start if 0 < history.oldest("message") < start else 0


def take_in_far(history: History, projection: Projection, facts: Facts, start: int) -> None:
    """Bring both up to before the event at a place, which begins a step."""
    first = history.oldest("message")
    size = history.bytes(before=start)
    for event in history.marked("session", "prompt", "steer", before=start):
        projection.add(event)
        size -= history.length(place(event.id))
    projection.leave_unread(first, start - 1, size)
    for event in history.marked("prompt", "steer", "plan", "message", "observation+", before=start):
        facts.see(event)
