"""Python kernel of an attempt that is gone on from: it ended with its session, so its cells go to the next one."""

from __future__ import annotations

from collections.abc import Iterable

from agent.events import Event, MessageEvent
from tools.core.text import clip
from tools.core.untrusted_output import enclose_in_tag

MOST_CELLS, MOST_CELL = 5, 1_500
"""Cells that are shown, the last ones, and characters of each."""


def word_lost_kernel(events: Iterable[Event]) -> str:
    """Return what the next attempt is told of a kernel with the names that it had; "" if none was used."""
    cells = [
        str(action.arguments.get("code", ""))
        for event in events
        if isinstance(event, MessageEvent)
        for action in event.actions
        if action.tool == "python"
    ]
    if not cells:
        return ""
    shown = "\n\n".join(clip(each, MOST_CELL) for each in cells[-MOST_CELLS:])
    told = enclose_in_tag("lost-cells", shown)
    return (
        f"\n\n{told}\n\nThe Python kernel of that attempt is gone, with all names that these cells made. Run again "
        "those that you need."
    )
