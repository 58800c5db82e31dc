"""Replay of a session's log into its projection and facts: at the start, after a rewind, after an undone compaction."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import NEVER_SENT, Projection
from agent.context.restore.projection_checkpoint import Checkpoints, apply_checkpoint
from agent.events import Compaction, Event
from agent.session.branch_history import History
from agent.session.log import Session
from agent.session.log_index import parse_event_id

FAR = 4 * NEVER_SENT
"""Bytes of a log from which its past is loaded lazily: a log of that size is read completely in a fifth of a second."""


def follow_session(session: Session, projection: Projection, facts: Facts) -> Checkpoints:
    """Load both from the log's current branch, and keep them current. Returns the checkpoints, to `save` at the end."""

    def reset_projection() -> None:
        projection.clear(find_undone(session.replayed.select_marked_events("compaction*")))

    checkpoints = Checkpoints(session.folder, session.replayed, projection, facts)
    known = checkpoints.restore()
    if known is not None and apply_checkpoint(known, session.replayed, projection, facts):
        projection.load_events(_feed_facts(session.replayed.read_events_from(f"e{known.at + 1}"), facts))
    else:
        reset_projection()
        _replay_history(session.replayed, projection, facts)
    session.subscribe(projection.add_event, restart=reset_projection)
    session.subscribe(facts.handle_event, restart=facts.clear)
    session.subscribe(checkpoints.handle_event)
    return checkpoints


def _replay_history(history: History, projection: Projection, facts: Facts) -> None:
    if _find_last_summary(history, frozenset()) is None:  # both need the complete log: read it once
        facts.clear()
        start = 0
        if history.get_branch_size() > FAR:
            from agent.context.restore.lazy_history import find_newest_part, load_far_past

            start = find_newest_part(history)
        if start:
            load_far_past(history, projection, facts, start)
        projection.load_events(_feed_facts(history.read_events_from(f"e{start}"), facts))
    else:
        projection.load_events(select_needed_events(history, projection.undone))
        rebuild_facts(history, facts)


def _feed_facts(history: Iterable[Event], facts: Facts) -> Iterator[Event]:
    for event in history:
        facts.handle_event(event)
        yield event


def rebuild_facts(history: History, facts: Facts) -> None:
    """Rebuild the facts from the last summary on, which holds those before it."""
    known = _find_last_summary(history, frozenset())
    facts.clear()
    if known is not None:
        facts.load(known.state)
    for event in history if known is None else history.read_events_from(known.id):
        facts.handle_event(event)


def undo_compaction(session: Session, projection: Projection, compaction: Compaction) -> Compaction:
    """Undo a compaction: append the undoing event, and rebuild the messages without it."""
    before = projection.tokens + projection.fixed_tokens
    event = Compaction(
        stage="undo",
        undoes=compaction.id,
        tokens_before=before,
        tokens_after=before + compaction.tokens_before - compaction.tokens_after,
        reason="asked for",
    )
    session.append(event)
    projection.clear(find_undone(session.replayed.select_marked_events("compaction*")))
    projection.load_events(select_needed_events(session.replayed, projection.undone))
    return event


def find_undone(compactions: Iterable[Event]) -> set[str]:
    """Return the ids of undone compactions. Undoing an undo makes the original effective again."""
    found: set[str] = set()
    for event in reversed([each for each in compactions if isinstance(each, Compaction)]):
        if event.undoes and event.id not in found:
            found.add(event.undoes)
    return found


def select_needed_events(history: History, undone: frozenset[str]) -> Iterator[Event]:
    """Return the source events of the current messages: before the last summary, only user messages."""
    last = _find_last_summary(history, undone)
    if last is None:
        return iter(history)
    covered = parse_event_id(last.folds[0].last)
    # the compactions among these change user messages; other events that they name are absent
    said = history.select_marked_events("session", "prompt", "steer", "compaction*")
    before = itertools.takewhile(lambda event: parse_event_id(event.id) <= covered, said)
    return itertools.chain(before, [last], history.read_events_from(f"e{covered + 1}"))


def _find_last_summary(history: History, undone: frozenset[str]) -> Compaction | None:
    for event in history.select_marked_newest_first("compaction+"):
        if (
            isinstance(event, Compaction)
            and event.stage == "summary"
            and event.folds
            and event.id not in undone
        ):
            return event
    return None
