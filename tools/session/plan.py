"""`plan`: the steps of the current task, kept in the context."""

from __future__ import annotations

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import clip, format_count
from tools.core.workspace import PlanItem, Workspace

MAX_ITEMS = 40
"""A longer plan is no longer read; its steps should be larger."""

_MARKS = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


@tool(effect="none")
async def plan(items: list[PlanItem], *, at: Workspace) -> Observation:
    """Set the plan: each time the whole list."""
    if len(items) > MAX_ITEMS:
        raise ToolFailure(f"plan: {len(items)} items are too many: at most {MAX_ITEMS}, each a larger step")
    if any(not item.text.strip() for item in items):
        raise ToolFailure("plan: each item needs a text that says what is done in that step")
    at.plan[:] = [PlanItem(text=clip(item.text.strip(), 300), status=item.status) for item in items]
    lines = [f"{_MARKS[item.status]} {item.text}" for item in at.plan]
    done = sum(item.status == "done" for item in at.plan)
    text = "\n".join([f"plan: {done} of {format_count(len(lines), 'item')} done", *lines])
    return Observation(text=text, data={"items": [{"text": i.text, "status": i.status} for i in at.plan]})
