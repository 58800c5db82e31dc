"""Folding of read-only actions: many reads and searches in a row become one line."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.events import ObservationEvent
from cli.output.style.terminal import truncate_text
from sandbox.sanitize import sanitize_text

LOOKING = {"read", "list", "search", "recall", "git_status", "git_diff", "symbols", "map", "outline"}
"""Tools whose use is worth a mention, but seldom their result."""

NAMED = 4
"""Targets of one tool that are named; the rest is counted."""


@dataclass(slots=True)
class ActionFolds:
    """Read-only actions in a row that are not printed yet."""

    _targets: dict[str, dict[str, int]] = field(default_factory=dict)  # by tool: target → place

    def add_if_foldable(self, event: ObservationEvent, target: str, place: int) -> bool:
        """Add the action if it is foldable; return whether it is. `place`: its position in the order of the calls."""
        if event.failed or event.tool not in LOOKING:
            return False
        about = sanitize_text(target).replace("\n", " ").replace("\t", " ")
        self._targets.setdefault(event.tool, {}).setdefault(about, place)
        return True

    def __bool__(self) -> bool:
        return bool(self._targets)

    def format_line(self, width: int) -> str:
        """Return one line for all of them, without the mark."""
        tools = sorted(self._targets.items(), key=lambda each: min(each[1].values()))
        return truncate_text(
            " · ".join(self._format_tool(tool, sorted(at, key=at.__getitem__)) for tool, at in tools), width
        )

    def clear(self) -> None:
        """Forget the actions, after they were printed."""
        self._targets.clear()

    def _format_tool(self, tool: str, targets: list[str]) -> str:
        named = ", ".join(filter(None, targets[:NAMED]))
        more = f" and {len(targets) - NAMED} more" if len(targets) > NAMED else ""
        return f"{tool} {named}{more}".strip()
