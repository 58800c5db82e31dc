"""Sizes of a team in the log of its turn: the estimate, then each enlargement, with their reasons."""

from __future__ import annotations

from collections.abc import Iterator

from agent.events import Signal
from agent.session.log import Session
from packages.search.team.plan_graph.team_size import TeamSize

SIZE = "team-size"
"""Name of the signal that keeps how many children a turn may have at the same time, and why."""


def read_sizes(session: Session) -> Iterator[str]:
    """Yield the logged sizes of the last turn, the estimate first."""
    history = session.replayed
    for event in history.read_events_from(f"e{history.find_newest_place('prompt')}"):
        if isinstance(event, Signal) and event.name == SIZE:
            yield event.detail


def record_size(session: Session, size: TeamSize) -> None:
    """Log a size, unless it was before a kill."""
    if size.reason not in read_sizes(session):
        session.append(Signal(name=SIZE, detail=size.reason))
