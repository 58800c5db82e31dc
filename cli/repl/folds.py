"""Actions that only look, folded: many reads and searches in a row become one line."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.events import ObservationEvent
from cli.render.terminal import fit
from sandbox.inert import inert

LOOKING = {"read", "list", "search", "recall", "git_status", "git_diff", "symbols", "map", "outline"}
"""Tools of which one wants to know that they were used, seldom what came of it."""

NAMED = 4
"""Targets of one tool that are named; the others are counted."""


@dataclass(slots=True)
class Folds:
    """The run of such actions that has not ended yet."""

    _targets: dict[str, list[str]] = field(default_factory=dict)
    _events: list[ObservationEvent] = field(default_factory=list)

    def takes(self, event: ObservationEvent, target: str) -> bool:
        """Whether the action belongs here; if so, it is kept."""
        if event.failed or event.tool not in LOOKING:
            return False
        about = inert(target).replace("\n", " ").replace("\t", " ")
        known = self._targets.setdefault(event.tool, [])
        if about not in known:
            known.append(about)
        self._events.append(event)
        return True

    def __bool__(self) -> bool:
        return bool(self._events)

    def line(self, width: int) -> str:
        """All of them on one line, without its mark."""
        return fit(" · ".join(self._tool(tool, targets) for tool, targets in self._targets.items()), width)

    def clear(self) -> None:
        """The run has ended and was printed."""
        self._targets.clear()
        self._events.clear()

    def _tool(self, tool: str, targets: list[str]) -> str:
        named = ", ".join(filter(None, targets[:NAMED]))
        more = f" and {len(targets) - NAMED} more" if len(targets) > NAMED else ""
        return f"{tool} {named}{more}".strip()
