"""Folding of read-only actions: many reads and searches in a row become one line."""

from __future__ import annotations

from dataclasses import field

from agent.events import ObservationEvent
from cli.output.lines.action_heading import LEAST_BESIDE, count_looked_lines, format_fold
from cli.output.style.paint import Paint, get_mark
from cli.output.style.terminal import measure_columns, truncate_text
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

LOOKING = {"read", "list", "search", "recall", "git_status", "git_diff", "symbols", "map", "outline"}
"""Tools whose use is worth a mention, but seldom their result."""

UNFOLD = "Ctrl-O"
"""The way to what is folded."""

NAMED = 4
"""Targets of one tool that are named; the rest is counted."""


@dataclass(slots=True)
class ActionFolds:
    """Read-only actions in a row that are not printed yet."""

    _targets: dict[str, dict[str, int]] = field(default_factory=dict)  # by tool: target → place
    _lines: int = 0

    def add_if_foldable(self, event: ObservationEvent, target: str, place: int) -> bool:
        """Add the action if it is foldable; return whether it is. `place`: its position in the order of the calls."""
        if event.failed or event.tool not in LOOKING:
            return False
        about = sanitize_text(target).replace("\n", " ").replace("\t", " ")
        self._targets.setdefault(event.tool, {}).setdefault(about, place)
        self._lines += count_looked_lines(event)
        return True

    def __bool__(self) -> bool:
        return bool(self._targets)

    def format_rows(self, width: int, paint: Paint, *, unicode: bool) -> list[str]:
        """Return one row for all of them; the number of their lines is a second one if it has no room beside it."""
        fold = format_fold(self._lines, UNFOLD)
        beside = f"{get_mark('between', unicode=unicode)}{fold}" if fold else ""
        if beside and width - 2 - measure_columns(beside) < min(measure_columns(self._text), LEAST_BESIDE):
            below, beside = [paint(truncate_text(f"  {fold}", width), "dim")], ""
        else:
            below = []
        line = truncate_text(self._text, width - 2 - measure_columns(beside))
        tool, _, rest = line.partition(" ")
        sign = paint(get_mark("action", unicode=unicode), "green")
        named = f"{sign} {paint(tool, 'bold')} {rest}".rstrip()
        return [f"{named}{paint(beside, 'dim') if beside else ''}", *below]

    @property
    def _text(self) -> str:
        tools = sorted(self._targets.items(), key=lambda each: min(each[1].values()))
        return " · ".join(self._format_tool(tool, sorted(at, key=at.__getitem__)) for tool, at in tools)

    def clear(self) -> None:
        """Forget the actions, after they were printed."""
        self._targets.clear()
        self._lines = 0

    def _format_tool(self, tool: str, targets: list[str]) -> str:
        named = ", ".join(filter(None, targets[:NAMED]))
        more = f" and {len(targets) - NAMED} more" if len(targets) > NAMED else ""
        return f"{tool} {named}{more}".strip()
