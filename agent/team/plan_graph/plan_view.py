"""A plan graph as the session's plan, where the ledger and the views show it."""

from __future__ import annotations

from agent.team.plan_graph.nodes import PlanState
from agent.turn.runtime import Runtime

_MARKS = {"done": "done", "doing": "doing"}


async def show_plan(runtime: Runtime, state: PlanState) -> None:
    """Bring the session's plan up to date; nothing is logged where it is so already."""
    items = [
        {
            "text": f"{node.id}: {node.task}" + (f" [{status}]" if status not in ("open", *_MARKS) else ""),
            "status": _MARKS.get(status, "open"),
        }
        for node in state.nodes.values()
        if (status := state.status[node.id]) != "replaced"
    ]
    if items != [{"text": each.text, "status": each.status} for each in runtime.workspace.plan]:
        await runtime.run_harness_action("plan", {"items": items})
