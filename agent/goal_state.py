"""State of a session's goal, computed from its log, so that it survives compactions, restarts and kills."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from agent.events import GoalEvent
from agent.events.goal_events import GOAL_ENDS
from agent.session.log import Session
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime

MAX_TURNS = 20
"""Turns of a goal without a limit of its own: a day's work of a slow model, and no endless loop."""


@dataclass(slots=True, kw_only=True)
class GoalState:
    """A goal as its person set it, and the results of its check by turn.

    start: the event that set it; last: the newest event of it; checks: one before the work and one for each turn
    """

    start: GoalEvent
    last: GoalEvent
    checks: list[GoalEvent] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        """Whether it is worked on, or would be by a resume."""
        return self.last.stage not in GOAL_ENDS

    @property
    def is_paused(self) -> bool:
        """Whether the person, or an error, interrupted the work."""
        return self.last.stage == "paused"

    @property
    def turn(self) -> int:
        """Turns that were checked."""
        return self.checks[-1].turn if self.checks else 0

    @property
    def detail(self) -> str:
        """Result of the last check, "" before the first."""
        return self.checks[-1].detail if self.checks else ""

    def count_idle_turns(self) -> int:
        """Return how many turns in a row left the check's result and the files as they were."""
        idle = 0
        for now, before in zip(reversed(self.checks), reversed(self.checks[:-1]), strict=False):
            if (now.outcome, now.detail, now.tree) != (before.outcome, before.detail, before.tree):
                break
            idle += 1
        return idle


def read_goal(session: Session) -> GoalState | None:
    """Return the newest goal that was set in this session; None if there is none, or it came with a copied log."""
    state: GoalState | None = None
    for event in session.replayed.select_events(GoalEvent):
        if event.stage == "set":
            state = GoalState(start=event, last=event) if event.session == session.id else None
        elif state is not None and event.session == session.id:
            state.last = event
            if event.stage == "checked":
                state.checks.append(event)
    return state


def find_active_goal(session: Session) -> GoalState | None:
    """Return the goal that is still to be reached, None if there is none."""
    state = read_goal(session)
    return state if state is not None and state.is_active else None


def set_goal(
    runtime: Runtime,
    text: str,
    check: str,
    *,
    max_turns: int | None = None,
    max_cost: float | None = None,
    max_time: float | None = None,
) -> GoalState:
    """Log a goal that a person has set. Raises UserError if another one is still worked on."""
    if find_active_goal(runtime.session) is not None:
        raise UserError(Fault.USAGE, "the session has a goal already", "End it first: /goal stop")
    if not text.strip():
        raise UserError(Fault.USAGE, "the goal has no text", "Say what is to be reached.")
    start = GoalEvent(
        stage="set",
        session=runtime.session.id,
        text=text.strip(),
        check=check.strip(),
        max_turns=max_turns or MAX_TURNS,
        max_cost=max_cost,
        max_time=max_time,
    )
    runtime.session.append(start)
    return GoalState(start=start, last=start)


def stop_goal(session: Session, state: GoalState, reason: str) -> None:
    """Log that a person ended the goal."""
    session.append(
        GoalEvent(
            stage="stopped",
            session=session.id,
            check=state.start.check,
            turn=state.turn,
            max_turns=state.start.max_turns,
            detail=state.detail,
            reason=reason,
            seconds=state.last.seconds,
        )
    )
