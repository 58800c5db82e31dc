"""Actions that only look, folded: many reads and searches in a row become one line."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.events import ObservationEvent
from cli.output.style.terminal import truncate_text
from sandbox.sanitize import sanitize_text

LOOKING = {"read", "list", "search", "recall", "git_status", "git_diff", "symbols", "map", "outline"}
"""Tools of which one wants to know that they were used, seldom what came of it."""

NAMED = 4
"""Targets of one tool that are named; the others are counted."""


@dataclass(slots=True)
class ActionFolds:
    """The run of such actions that has not ended yet."""

    _targets: dict[str, dict[str, int]] = field(default_factory=dict)  # by tool: target → place

    def add_if_foldable(self, event: ObservationEvent, target: str, place: int) -> bool:
        """Whether the action belongs here; if so, it is kept. `place`: in the order in which they were asked for."""
        if event.failed or event.tool not in LOOKING:
            return False
        about = sanitize_text(target).replace("\n", " ").replace("\t", " ")
        self._targets.setdefault(event.tool, {}).setdefault(about, place)
        return True

    def __bool__(self) -> bool:
        return bool(self._targets)

    def format_line(self, width: int) -> str:
        """All of them on one line, without its mark."""
        tools = sorted(self._targets.items(), key=lambda each: min(each[1].values()))
        return truncate_text(
            " · ".join(self._format_tool(tool, sorted(at, key=at.__getitem__)) for tool, at in tools), width
        )

    def clear(self) -> None:
        """The run has ended and was printed."""
        self._targets.clear()

    def _format_tool(self, tool: str, targets: list[str]) -> str:
        named = ", ".join(filter(None, targets[:NAMED]))
        more = f" and {len(targets) - NAMED} more" if len(targets) > NAMED else ""
        return f"{tool} {named}{more}".strip()
