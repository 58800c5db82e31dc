"""A session's log into its projection and facts: at the start, after going back, after a compaction was undone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from agent.context.checkpoint import Checkpoints, resume
from agent.context.facts import Facts
from agent.context.projection import Projection
from agent.context.unread import newest_part, take_in_far
from agent.events import Compaction, Event
from agent.history import History
from agent.log_index import place
from agent.session import Session


def take_in(session: Session, projection: Projection, facts: Facts) -> Checkpoints:
    """Bring both up to the log's present branch, and keep them there. The checkpoints: to `save` one at the end."""

    def start_over() -> None:
        projection.clear(undone(session.replayed.marked("compaction*")))

    checkpoints = Checkpoints(session.folder, session.replayed, projection, facts)
    known = checkpoints.restore()
    if known is not None and resume(known, session.replayed, projection, facts):
        projection.load(_seen(session.replayed.since(f"e{known.at + 1}"), facts))
    else:
        start_over()
        _replay(session.replayed, projection, facts)
    session.subscribe(projection.add, restart=start_over)
    session.subscribe(facts.see, restart=facts.clear)
    session.subscribe(checkpoints.see)
    return checkpoints


def _replay(history: History, projection: Projection, facts: Facts) -> None:
    if _last_summary(history, frozenset()) is None:  # both need all of it: it is read once
        facts.clear()
        start = newest_part(history)
        if start:
            take_in_far(history, projection, facts, start)
        projection.load(_seen(history.since(f"e{start}"), facts))
    else:
        projection.load(needed(history, projection.undone))
        recollect(history, facts)


def _seen(history: Iterable[Event], facts: Facts) -> Iterator[Event]:
    for event in history:
        facts.see(event)
        yield event


def recollect(history: History, facts: Facts) -> None:
    """The facts of a log: from the last summary on, which holds those before it."""
    known = _last_summary(history, frozenset())
    facts.clear()
    if known is not None:
        facts.load(known.state)
    for event in history if known is None else history.since(known.id):
        facts.see(event)


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
    projection.clear(undone(session.replayed.marked("compaction*")))
    projection.load(needed(session.replayed, projection.undone))
    return event


def undone(compactions: Iterable[Event]) -> set[str]:
    """Ids of those that hold no more. Taking back an undoing makes what it undid hold again."""
    found: set[str] = set()
    for event in reversed([each for each in compactions if isinstance(each, Compaction)]):
        if event.undoes and event.id not in found:
            found.add(event.undoes)
    return found


def needed(history: History, undone: frozenset[str]) -> Iterator[Event]:
    """The events that the present messages are made of: before the last summary, only what people said."""
    last = _last_summary(history, undone)
    if last is None:
        return iter(history)
    covered = place(last.folds[0].last)
    # the compactions among these act on what people said; what else they name is not there
    said = history.marked("session", "prompt", "steer", "compaction*")
    before = itertools.takewhile(lambda event: place(event.id) <= covered, said)
    return itertools.chain(before, [last], history.since(f"e{covered + 1}"))


def _last_summary(history: History, undone: frozenset[str]) -> Compaction | None:
    for event in history.marked_newest_first("compaction+"):
        if (
            isinstance(event, Compaction)
            and event.stage == "summary"
            and event.folds
            and event.id not in undone
        ):
            return event
    return None
