"""Nodes of a plan: a task with what it needs, who does it, and what shows that it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from sandbox.lazy_dataclass import dataclass

NodeId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]

NodeStatus = Literal["open", "doing", "done", "failed", "skipped", "replaced"]
"""skipped: something that it needs has failed; replaced: by the nodes of a new plan for it"""


class PlanNode(BaseModel):
    """One step of a plan.

    needs: ids of the nodes whose results it needs; covers: parts of the task that it solves
    tools: names of those that it cannot do without; evidence: what shows that it is done
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: NodeId
    task: str
    needs: tuple[NodeId, ...] = ()
    covers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """What became of a node. evidence: what its checks found; failing_tests: how many failed with its change"""

    succeeded: bool
    report: str = ""
    evidence: str = ""
    paths: tuple[str, ...] = ()
    failing_tests: int = 0


@dataclass(slots=True)
class PlanState:
    """A plan while it is carried out: nodes in order, status and result by id."""

    nodes: dict[str, PlanNode] = field(default_factory=dict)
    status: dict[str, NodeStatus] = field(default_factory=dict)
    results: dict[str, NodeResult] = field(default_factory=dict)

    @classmethod
    def from_nodes(cls, nodes: Sequence[PlanNode]) -> PlanState:
        return cls({each.id: each for each in nodes}, {each.id: "open" for each in nodes})

    def list_ready(self) -> list[PlanNode]:
        """Return the open nodes whose needs are done."""
        return [
            node
            for node in self.nodes.values()
            if self.status[node.id] == "open" and all(self.status[need] == "done" for need in node.needs)
        ]

    def get_needed_results(self, node: PlanNode) -> Mapping[str, NodeResult]:
        """Return the results that a node needs, by id."""
        return {need: self.results[need] for need in node.needs}

    def replace_node(self, old: str, new: Sequence[PlanNode]) -> None:
        """Put nodes in a failed one's place; those that needed it need all of them that no other of them needs."""
        inner = {need for node in new for need in node.needs}
        last = tuple(node.id for node in new if node.id not in inner)
        before = self.nodes[old].needs
        self.status[old] = "replaced"
        added = {node.id: node.model_copy(update={"needs": (*node.needs, *before)}) for node in new}
        for node in list(self.nodes.values()):
            if old in node.needs:
                needs = tuple(need for need in node.needs if need != old) + last
                self.nodes[node.id] = node.model_copy(update={"needs": needs})
        self.nodes |= added
        self.status |= dict.fromkeys(added, "open")

    @property
    def succeeded(self) -> bool:
        """Whether every node is done, or was replaced by some that are."""
        return all(status in ("done", "replaced") for status in self.status.values())
