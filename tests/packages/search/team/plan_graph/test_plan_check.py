"""A plan is checked before any work: each node solvable, all together complete, none twice."""

from __future__ import annotations

from typing import Any

import pytest

from packages.search.team.plan_graph.nodes import PlanNode
from packages.search.team.plan_graph.plan_check import MOST_NODES, check_plan


def node(name: str, *needs: str, **more: Any) -> PlanNode:
    given = {"task": f"{name} {hash(name)}", "evidence": "a report", **more}
    return PlanNode(id=name, needs=needs, **given)


def check(*nodes: PlanNode, requirements: tuple[str, ...] = ()) -> list[str]:
    return check_plan(nodes, offered=["read", "edit"], requirements=requirements)


def test_a_good_plan_has_no_problem() -> None:
    nodes = (
        node("find", tools=["read"], covers=["cause"]),
        node("mend", "find", tools=["edit"], covers=["fix"]),
    )
    assert check(*nodes, requirements=("cause", "fix")) == []


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ((), "the plan is empty"),
        ((node("a"), node("a", task="other words")), "a: two nodes have this id"),
        ((node("a", "b"),), "a: needs b, which is no node"),
        ((node("a", "c"), node("b", "a"), node("c", "b")), "these need each other: a → c → b → a"),
        ((node("a", tools=["deploy"]),), "a: no tool at hand: deploy"),
        ((node("a", evidence=" "),), "a: nothing is said that shows that it is done"),
        (
            (node("a", task="Find who calls total()"), node("b", task="find, who calls total")),
            "b: the same task as a",
        ),
        (tuple(node(f"n{each}") for each in range(MOST_NODES + 1)), "41 nodes are too many"),
    ],
)
def test_a_problem_is_named(nodes: tuple[PlanNode, ...], problem: str) -> None:
    assert any(each.startswith(problem) for each in check(*nodes)), check(*nodes)


def test_what_no_node_covers_is_named() -> None:
    assert check(node("a", covers=["x"]), requirements=("x", "tests")) == ["no node covers 'tests'"]
