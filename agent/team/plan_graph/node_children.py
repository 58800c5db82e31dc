"""Executors of plan nodes: a child session each; what one writes is merged, and its evidence executed after that."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from agent.budget.limit_settings import LimitSettings
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import Signal
from agent.exit_codes import Exit
from agent.team.merge.merge_result import Conflicts, Merged
from agent.team.merge.writers import merge_writer, prepare_resolution, revert_merge, start_writer
from agent.team.microsteps.step_actions import create_step_actions
from agent.team.plan_graph.nodes import NodeResult, PlanNode, PlanState
from agent.team.plan_graph.plan_check import check_plan
from agent.team.plan_graph.plan_run import run_plan
from agent.team.plan_graph.team_size import TeamSize
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from tools.core.text import clip

MOST_REPORT = 2_000
"""Characters of a needed node's report that another one sees."""

_NODES = TypeAdapter(list[PlanNode])

_ENDED = (Exit.DONE, Exit.NO_TEST_RUNNER, Exit.NOTHING_TO_DO)
"""Ends of a child that may have done its task: what shows it is the node's evidence, and the tests of the whole."""

_REPLAN = """\
This step of a plan has failed:

{node}

What happened: {why}

Find another way to the same result: one or a few steps, as a JSON list of objects with the fields of the step, with new
ids, and nothing else. `needs` names steps of your list only. An empty list if there is no other way."""


@dataclass(slots=True, kw_only=True)
class NodeChildren:
    """Does and replans nodes by child sessions. limits: of each child's turns"""

    runtime: Runtime
    children: Children
    limits: LimitSettings = field(default_factory=lambda: LimitSettings(max_steps=100))
    _merging: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def execute(self, node: PlanNode, needed: Mapping[str, NodeResult]) -> NodeResult:
        """See `Execute`."""
        prompt = _build_prompt(node, needed)
        tools = list(node.tools) or None
        spec = ChildSpec(prompt=prompt, model=node.model, tools=tools, limits=self.limits)
        if node.place == "write":
            return await self._write(node, spec)
        result = await self.children.run(spec)
        if result.exit_code not in _ENDED:
            return NodeResult(succeeded=False, report=result.report, evidence=result.outcome)
        passed, evidence = await self._run_evidence(node)
        return NodeResult(succeeded=passed, report=result.report, evidence=evidence)

    async def replan(self, node: PlanNode, failed: NodeResult) -> Sequence[PlanNode]:
        """See `Replan`. What is no valid plan is none."""
        why = clip(f"{failed.evidence}\n{failed.report}".strip(), MOST_REPORT)
        prompt = _REPLAN.format(node=json.dumps(node.model_dump(), indent=1), why=why)
        result = await self.children.run(
            ChildSpec(prompt=prompt, tools=["read", "search"], limits=self.limits)
        )
        found = re.search(r"\[.*\]", result.report, re.DOTALL)
        try:
            return _NODES.validate_json(found[0]) if found else ()
        except ValidationError:
            return ()

    async def show_plan(self, state: PlanState) -> None:
        """Bring the session's plan up to date, where the ledger and the views show it."""
        marks = {"done": "done", "replaced": "done", "doing": "doing"}
        items = [
            {
                "text": f"{node.id}: {node.task}"
                + (f" [{status}]" if status not in ("open", *marks) else ""),
                "status": marks.get(status, "open"),
            }
            for node in state.nodes.values()
            if (status := state.status[node.id]) != "replaced"
        ]
        if items != [{"text": each.text, "status": each.status} for each in self.runtime.workspace.plan]:
            await self.runtime.run_harness_action("plan", {"items": items})

    async def _write(self, node: PlanNode, spec: ChildSpec) -> NodeResult:
        writer = await start_writer(self.children, spec)
        async with writer.child as child:
            result = await child.run()
            if result.exit_code not in _ENDED:
                return NodeResult(succeeded=False, report=result.report, evidence=result.outcome)
            async with self._merging:  # what a node shows has to be its own work
                outcome = await merge_writer(self.runtime, writer)
                if isinstance(outcome, Conflicts):
                    await child.ask(await prepare_resolution(self.runtime, writer, outcome))
                    outcome = await merge_writer(self.runtime, writer)
                if isinstance(outcome, Conflicts):
                    return NodeResult(succeeded=False, report=result.report, evidence=outcome.describe())
                return await self._judge_merged(node, result.report, outcome)

    async def _judge_merged(self, node: PlanNode, report: str, merged: Merged) -> NodeResult:
        """Run the node's evidence on the merged files; take the merge back if it fails."""
        passed, evidence = await self._run_evidence(node)
        if not passed:
            await revert_merge(self.runtime, merged)
        return NodeResult(
            succeeded=passed, report=report, evidence=evidence, paths=merged.paths if passed else ()
        )

    async def _run_evidence(self, node: PlanNode) -> tuple[bool, str]:
        """Run the command that shows that a node is done."""
        if not node.command:
            return True, ""
        self.runtime.toolbox.add(accepted=create_step_actions(_read_nothing))
        done = await self.runtime.run_harness_action("check_step", {"path": node.id, "command": node.command})
        return not done.failed, done.text


async def carry_out_plan(
    runtime: Runtime,
    children: Children,
    nodes: Sequence[PlanNode],
    *,
    size: TeamSize,
    requirements: Sequence[str] = (),
) -> PlanState:
    """Check a plan and carry it out by child sessions, as many at a time as its size allows.

    The size and its reason are logged; the session's plan shows the nodes. Raises UserError for a plan with problems:
    then nothing was done.
    """
    offered = [tool.name for tool in runtime.toolbox]
    if problems := check_plan(nodes, offered=offered, requirements=requirements):
        raise UserError(Fault.USAGE, f"the plan has problems: {'; '.join(problems)}")
    runtime.session.append(Signal(name="team-size", detail=size.reason))
    work = NodeChildren(runtime=runtime, children=children)
    return await run_plan(
        nodes,
        work.execute,
        at_once=size.children,
        replan=work.replan,
        on_change=work.show_plan,
        offered=offered,
    )


def _build_prompt(node: PlanNode, needed: Mapping[str, NodeResult]) -> str:
    parts = [node.task]
    if node.evidence or node.command:
        parts.append(f"It is done when: {node.evidence or node.command}")
    parts += [f"Result of {name}:\n{clip(result.report, MOST_REPORT)}" for name, result in needed.items()]
    return "\n\n".join(parts)


def _read_nothing(name: str) -> bytes:
    raise FileNotFoundError(name)
