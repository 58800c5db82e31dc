"""Independent nodes run at the same time; a failed one is replanned alone, and only what needs it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from packages.search.team.plan_graph.nodes import NodeResult, PlanNode, PlanState
from packages.search.team.plan_graph.plan_run import run_plan
from packages.search.team.plan_graph.team_size import size_team
from tests.packages.search.team.plan_graph.test_plan_check import node


class Work:
    """Nodes that take a moment. fails: those that do not succeed; together: most that ran at the same time"""

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.running = self.together = 0
        self.order: list[str] = []
        self.seen: dict[str, list[str]] = {}

    async def execute(self, node: PlanNode, needed: Mapping[str, NodeResult]) -> NodeResult:
        self.order.append(node.id)
        self.seen[node.id] = [each.report for each in needed.values()]
        self.running += 1
        self.together = max(self.together, self.running)
        for _ in range(3):
            await asyncio.sleep(0)
        self.running -= 1
        return NodeResult(
            succeeded=node.id not in self.fails, report=f"report of {node.id}", evidence="exit 1"
        )


def carry_out(work: Work, nodes: Sequence[PlanNode], *, at_once: int = 4, **more: object) -> PlanState:
    return asyncio.run(run_plan(nodes, work.execute, at_once=lambda: at_once, **more))  # type: ignore[arg-type]


def test_a_diamond_runs_its_middle_at_the_same_time_and_passes_results_on() -> None:
    nodes = [node("a"), node("b", "a"), node("c", "a"), node("d", "b", "c")]
    work = Work()
    state = carry_out(work, nodes)
    assert state.succeeded
    assert work.together == 2
    assert (work.order[0], work.order[-1]) == ("a", "d")
    assert work.seen["d"] == ["report of b", "report of c"]
    alone = Work()
    carry_out(alone, nodes, at_once=1)
    assert alone.together == 1


def test_a_team_that_grew_starts_more_nodes_at_once() -> None:
    work = Work("a")
    sizes = [1]

    async def replan(failed: PlanNode, result: NodeResult) -> Sequence[PlanNode]:
        assert work.together == 1
        sizes[0] = 3
        return []

    nodes = [node("a"), node("b"), node("c"), node("d")]
    state = asyncio.run(run_plan(nodes, work.execute, at_once=lambda: sizes[0], replan=replan))
    assert state.status["d"] == "done"
    assert work.together == 3


def test_what_needs_a_failed_node_is_skipped_and_the_rest_goes_on() -> None:
    state = carry_out(Work("a"), [node("a"), node("b", "a"), node("c", "b"), node("d")])
    assert state.status == {"a": "failed", "b": "skipped", "c": "skipped", "d": "done"}
    assert not state.succeeded


def test_a_failed_node_is_replanned_alone() -> None:
    asked: list[str] = []

    async def replan(failed: PlanNode, result: NodeResult) -> Sequence[PlanNode]:
        asked.append(f"{failed.id}: {result.evidence}")
        return [node("b1"), node("b2", "b1")]

    work = Work("b")
    state = carry_out(work, [node("a"), node("b", "a"), node("c", "b"), node("d", "a")], replan=replan)
    assert state.succeeded
    assert asked == ["b: exit 1"]
    assert work.order.count("d") == work.order.count("a") == 1, "nothing else is done again"
    assert work.seen["b1"] == ["report of a"]
    assert state.nodes["c"].needs == ("b2",)


def test_replanning_ends_and_a_bad_plan_is_not_taken() -> None:
    made = iter(range(100))

    async def again(failed: PlanNode, result: NodeResult) -> Sequence[PlanNode]:
        return [node(f"x{next(made)}")]

    work = Work("a", *(f"x{number}" for number in range(100)))
    state = carry_out(work, [node("a")], replan=again)
    assert work.order == ["a", "x0", "x1"]
    assert state.status["x1"] == "failed"

    async def circle(failed: PlanNode, result: NodeResult) -> Sequence[PlanNode]:
        return [node("y", "z"), node("z", "y")]

    assert carry_out(Work("a"), [node("a")], replan=circle).status == {"a": "failed"}


def test_sequential_work_stays_single_and_independent_work_is_bounded() -> None:
    together = [("a/x.py", "b/y.py")] * 3
    single = size_team({"a/x.py": 1.0, "b/y.py": 0.9}, together)
    assert single.children == 1
    assert single.reason == "single: 2 files in 2 folders are changed together"
    many = size_team({"a/x.py": 1.0, "b/y.py": 0.9, "tests/test_x.py": 0.8, "far.py": 0.1}, [])
    assert (many.children, many.edges) == (2, 2)
    assert many.reason.startswith("2 children: 2 files in 2 folders, 2 independent groups, 1 test file")
    assert many.enlarge(0, "mail") is many
    larger = many.enlarge(3, "mail")
    assert (larger.children, larger.reason) == (3, "3 children: 3 failing tests at mail")
    chain = [node("a"), node("b", "a"), node("c", "b"), node("d", "c")]
    assert list(many.find_excess(chain)) == [
        "3 needs between steps, at most 2: join steps that build on each other"
    ]
    assert list(larger.find_excess(chain)) == []
    most = size_team({f"{name}.py": 1.0 for name in "abcdefghijk"}, [])
    assert most.children == 6
    assert most.enlarge(1, "mail") is most
    assert size_team({}, []).children == 1
