"""Lazy loading of a long log that was never compacted (an import, say): its far past is left unread.

Loaded are the steps that may stay verbatim, user messages, and the sources of facts: replies, plans, notes, tests and
changes. Read-only outputs of old steps are left on disk; `recall` finds them there. A summary takes their place.
"""

from __future__ import annotations

from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id

SHORTENING = ("compaction", "compaction+", "compaction*")

STEPS = ("message", "prompt")
"""Kinds of events that begin a step or lie between two."""


def find_newest_part(history: History) -> int:
    """Return the position of the first event to load completely; 0 if the log has to be loaded completely."""
    if history.find_newest_place(*SHORTENING):
        return 0
    start = history.find_oldest_place(*STEPS, after=history.find_tail_start(NEVER_SENT))
    return start if 0 < history.find_oldest_place("message") < start else 0


def load_far_past(history: History, projection: Projection, facts: Facts, start: int) -> None:
    """Load projection and facts up to the event at position `start`, which begins a step."""
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
