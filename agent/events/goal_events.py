"""Event of a goal: work over several turns until a check passes."""

from __future__ import annotations

from typing import Literal

from agent.events.event_base import Event
from sandbox.lazy_dataclass import dataclass

GoalStage = Literal["set", "checked", "paused", "reached", "stopped"]

GOAL_ENDS: tuple[GoalStage, ...] = ("reached", "stopped")
"""Stages after which a goal is no longer worked on."""


@dataclass(kw_only=True)
class GoalEvent(Event):
    """A goal was set, its check was run after a turn, or the work on it ended.

    session: that in which a person set it; in a copy of the log the goal is not worked on
    text, check: the person's; an empty check is the requirements of the task
    turn: turns so far, max_turns: most of them; max_cost, max_time: dollars and seconds of the whole goal
    outcome, detail: result of the check ("2 failed"); before: its detail a turn earlier; tree: hash of changed files
    reason: why the work ended; seconds: time worked so far
    """

    kind: Literal["goal"] = "goal"
    stage: GoalStage
    session: str = ""
    text: str = ""
    check: str = ""
    max_turns: int = 0
    max_cost: float | None = None
    max_time: float | None = None
    turn: int = 0
    outcome: Literal["", "pass", "fail", "unknown"] = ""
    detail: str = ""
    before: str = ""
    tree: str = ""
    reason: str = ""
    seconds: float = 0.0
