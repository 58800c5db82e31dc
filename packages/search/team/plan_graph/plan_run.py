"""Carrying out a plan: independent nodes at the same time, a failed one replanned alone (Flow, arXiv 2501.07834)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from packages.search.team.plan_graph.nodes import NodeResult, PlanNode, PlanState
from packages.search.team.plan_graph.plan_check import check_plan

Execute = Callable[[PlanNode, Mapping[str, NodeResult]], Awaitable[NodeResult]]
"""Does a node, given the results that it needs."""

Replan = Callable[[PlanNode, NodeResult], Awaitable[Sequence[PlanNode]]]
"""Returns the nodes in a failed one's place, none where there is no other way."""

MOST_REPLANS = 2
"""How often a node, or what took its place, is replanned."""


async def run_plan(
    nodes: Sequence[PlanNode],
    execute: Execute,
    *,
    at_once: Callable[[], int],
    replan: Replan | None = None,
    on_change: Callable[[PlanState], Awaitable[None]] | None = None,
    offered: Collection[str] = (),
) -> PlanState:
    """Carry out a checked plan to its end.

    at_once: returns how many nodes may run at the same time by now; on_change: called after each change of a status
    offered: tools at hand, for the check of what takes a failed node's place
    """
    state = PlanState.from_nodes(nodes)
    replans = dict.fromkeys(state.nodes, 0)
    running: dict[asyncio.Task[NodeResult], PlanNode] = {}

    async def tell() -> None:
        if on_change is not None:
            await on_change(state)

    try:
        while True:
            for node in state.list_ready()[: max(at_once() - len(running), 0)]:
                state.status[node.id] = "doing"
                running[asyncio.ensure_future(execute(node, state.get_needed_results(node)))] = node
            await tell()
            if not running:
                break
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                node = running.pop(task)
                result = state.results[node.id] = task.result()
                state.status[node.id] = "done" if result.succeeded else "failed"
                if not result.succeeded and replan is not None and replans[node.id] < MOST_REPLANS:
                    new = _accept(state, node, await replan(node, result), offered)
                    if new:
                        replans |= dict.fromkeys((each.id for each in new), replans[node.id] + 1)
                        state.replace_node(node.id, new)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    for node in state.nodes.values():
        if state.status[node.id] == "open":
            state.status[node.id] = "skipped"
    await tell()
    return state


def _accept(
    state: PlanState, old: PlanNode, new: Sequence[PlanNode], offered: Collection[str]
) -> Sequence[PlanNode]:
    """Return the new nodes if they are a plan of their own beside the others, else none."""
    if any(node.id in state.nodes for node in new):
        return ()
    return () if check_plan(new, offered=offered, requirements=old.covers) else new
