"""`recall`: the whole of an output that was cut."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tools.action import Observation, ToolFailure
from tools.registry import tool
from tools.window import Window, window
from tools.workspace import Workspace


@tool(effect="read")
async def recall(ref: str, start: int = 1, end: int | None = None, *, at: Workspace) -> Observation:
    """Read lines of an earlier output by its reference.

    ref: e.g. "out:12"
    """
    path = at.artifacts.path(ref)
    if path is None:
        raise ToolFailure(
            f'recall: no output {ref!r}: references look like "out:12" and stand where one was cut'
        )
    if path.stat().st_size == 0:
        return Observation(text=f"{ref} is empty", ref=ref)
    part = await asyncio.to_thread(_part, path, start, end)
    rest = f'\n[more: recall(ref="{ref}", start={part.last + 1})]' if part.more else ""
    return Observation(text=f"{ref}: {part.extent()}\n{part.text}{rest}", ref=ref)


def _part(path: Path, start: int, end: int | None) -> Window:
    with path.open("rb") as file:
        return window(file, start, end, tool="recall")
