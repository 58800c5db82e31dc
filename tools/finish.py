"""`finish`: the model says that it is done."""

from __future__ import annotations

from typing import Literal

from tools.action import Observation
from tools.registry import tool
from tools.workspace import Workspace


@tool(effect="none", ends=True)
async def finish(
    summary: str, status: Literal["done", "nothing to do", "not achieved"] = "done", *, at: Workspace
) -> Observation:
    """End the turn when the task is done, or cannot be done.

    summary: for the user: what changed, how it was verified, what is left
    """
    text = summary.strip()
    return Observation(text=text or "finished", data={"summary": text, "status": status})
