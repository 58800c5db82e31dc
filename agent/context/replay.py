"""A session's log into its projection and facts: at the start, after going back, after a compaction was undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from agent.context.facts import Facts
from agent.context.projection import Projection
from agent.events import Compaction, Event, Prompt, SessionStart, Steer
from agent.history import History
from agent.log_index import place
from agent.session import Session


def take_in(session: Session, projection: Projection, facts: Facts) -> None:
    """Bring both up to the log's present branch, and keep them there."""

    def start_over() -> None:
        projection.clear(undone(session.replayed.only(Compaction)))

    start_over()
    for event in needed(session.replayed, projection.undone):
        projection.add(event)
    session.subscribe(projection.add, restart=start_over)
    session.subscribe(facts.see, replay=True, restart=facts.clear)


def undo(session: Session, projection: Projection, compaction: Compaction) -> Compaction:
    """Send the history as it was before a compaction; the log says so from here on."""
    before = projection.tokens + projection.fixed_tokens
    event = Compaction(
        stage="undo",
        undoes=compaction.id,
        tokens_before=before,
        tokens_after=before + compaction.tokens_before - compaction.tokens_after,
        reason="asked for",
    )
    session.append(event)
    projection.clear(undone(session.replayed.only(Compaction)))
    for each in needed(session.replayed, projection.undone):
        projection.add(each)
    return event


def undone(compactions: Iterable[Compaction]) -> set[str]:
    """Ids of those that hold no more. Taking back an undoing makes what it undid hold again."""
    found: set[str] = set()
    for event in reversed(list(compactions)):
        if event.undoes and event.id not in found:
            found.add(event.undoes)
    return found


def needed(history: History, undone: frozenset[str]) -> Iterator[Event]:
    """The events that the present messages are made of: before the last summary, only what people said."""
    holding = [event for event in history.only(Compaction) if event.id not in undone]
    last = next((event for event in reversed(holding) if event.stage == "summary" and event.folds), None)
    if last is None:
        return iter(history)
    covered = place(last.folds[0].last)
    # the compactions among these act on what people said; what else they name is not there
    before = (e for e in history.only(SessionStart, Prompt, Steer, Compaction) if place(e.id) <= covered)
    return chain(before, [last], history.since(f"e{covered + 1}"))
