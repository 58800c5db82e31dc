"""Check of a plan before any work: each node solvable, all together complete, none twice (AOP, arXiv 2410.02189)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from packages.search.team.plan_graph.nodes import PlanNode

SAME = 0.8
"""Share of common words from which on two tasks are the same."""

MOST_NODES = 40
"""A longer plan is no longer read; its steps should be larger."""


def check_plan(
    nodes: Sequence[PlanNode], *, offered: Collection[str], requirements: Collection[str] = ()
) -> list[str]:
    """Return the problems of a plan, one line each, worded for the model that made it.

    offered: names of the tools at hand; requirements: parts of the task that have to be covered
    """
    if not nodes:
        return ["the plan is empty"]
    if len(nodes) > MOST_NODES:
        return [f"{len(nodes)} nodes are too many: at most {MOST_NODES}, each a larger step"]
    found = [*_check_edges(nodes), *_check_solvable(nodes, offered), *_check_twice(nodes)]
    return [*found, *_check_whole(nodes, requirements)]


def _check_edges(nodes: Sequence[PlanNode]) -> Iterator[str]:
    ids = [node.id for node in nodes]
    yield from (f"{each}: two nodes have this id" for each in sorted({i for i in ids if ids.count(i) > 1}))
    for node in nodes:
        for need in node.needs:
            if need not in ids:
                yield f"{node.id}: needs {need}, which is no node"
    if cycle := _find_cycle(nodes):
        yield f"these need each other: {' → '.join(cycle)}"


def _check_solvable(nodes: Sequence[PlanNode], offered: Collection[str]) -> Iterator[str]:
    for node in nodes:
        if missing := [name for name in node.tools if name not in offered]:
            yield f"{node.id}: no tool at hand: {', '.join(missing)}"
        if not node.task.strip():
            yield f"{node.id}: no task"
        if not node.evidence.strip():
            yield f"{node.id}: nothing is said that shows that it is done"


def _check_twice(nodes: Sequence[PlanNode]) -> Iterator[str]:
    words = [(node, set(re.findall(r"\w+", node.task.lower()))) for node in nodes]
    for number, (node, own) in enumerate(words):
        for other, its in words[:number]:
            both = len(own | its)
            if both and len(own & its) / both >= SAME:
                yield f"{node.id}: the same task as {other.id}"


def _check_whole(nodes: Sequence[PlanNode], requirements: Collection[str]) -> Iterator[str]:
    covered = {each for node in nodes for each in node.covers}
    yield from (f"no node covers {each!r}" for each in requirements if each not in covered)


def _find_cycle(nodes: Sequence[PlanNode]) -> list[str]:
    """Return ids of which each needs the next, the first at the end again; [] if there are none."""
    try:
        TopologicalSorter({node.id: node.needs for node in nodes}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []
