"""A goal's events as one line each: the check before and after a turn, and how the work ended."""

from __future__ import annotations

from agent.events import GoalEvent
from cli.output.style.paint import Style


def format_goal(event: GoalEvent, *, unicode: bool) -> tuple[str, Style, str]:
    """Return the mark, style and text of a goal's event."""
    arrow, between = ("→", " · ") if unicode else ("->", " | ")
    turns = f"{event.turn} of {event.max_turns} turns"
    match event.stage:
        case "set":
            until = f"until `{event.check}` passes" if event.check else "until its requirements hold"
            return "said", "dim", f"goal: {until}, in at most {event.max_turns} turns"
        case "checked":
            changed = f"{event.before} {arrow} {event.detail}" if event.before else event.detail
            style: Style = "green" if event.outcome == "pass" else "yellow"
            return "action", style, f"goal: {turns}{between}check: {changed}"
        case "reached":
            told = f"; {event.reason}" if event.reason else ""
            return "good", "green", f"goal reached after {_count_turns(event.turn)}: {event.detail}{told}"
        case "paused":
            return "warn", "yellow", f"goal paused after {turns}: {event.reason}"
    return "warn", "yellow", f"goal not reached after {_count_turns(event.turn)}: {event.reason}"


def _count_turns(number: int) -> str:
    return f"{number} turn{'' if number == 1 else 's'}"
