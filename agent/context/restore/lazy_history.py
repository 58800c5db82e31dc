"""The far past of a long log that was never shortened (an import, say): left unread, as a summary takes its place.

Read are the steps that may stay whole, what people said, and what facts are read off: replies, plans, notes, tests and
what was changed. What an old step only looked at is left where it is; `recall` finds it there.
"""

from __future__ import annotations

from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id

FAR = 4 * NEVER_SENT
"""Bytes of a log from which on this is done: one of that length is read whole in a fifth of a second."""

SHORTENING = ("compaction", "compaction+", "compaction*")

STEPS = ("message", "prompt")
"""What a step, or what is said between two, begins with."""


def find_newest_part(history: History) -> int:
    """Place of the first event that has to be read whole; 0: of a log like this all have to be."""
    if history.find_newest_place(*SHORTENING) or history.get_branch_size() <= FAR:
        return 0
    start = history.find_oldest_place(*STEPS, after=history.find_tail_start(NEVER_SENT))
    return start if 0 < history.find_oldest_place("message") < start else 0


def load_far_past(history: History, projection: Projection, facts: Facts, start: int) -> None:
    """Bring both up to before the event at a place, which begins a step."""
    first = history.find_oldest_place("message")
    size = history.get_branch_size(before=start)
    for event in history.select_marked_events("session", "prompt", "steer", before=start):
        projection.add_event(event)
        size -= history.get_event_size(parse_event_id(event.id))
    projection.add_unread_note(first, start - 1, size)
    for event in history.select_marked_events(
        "prompt", "steer", "plan", "message", "observation+", before=start
    ):
        facts.handle_event(event)
