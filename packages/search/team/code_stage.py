"""Code of a team: each step of its plan in worktrees, several candidates pruned by what ran (CodeCoR, 2501.07811)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import field

from agent.children.spec import ChildSpec
from agent.exit_codes import Exit
from agent.session_settings import StrategySettings
from agent.strategy.candidate import Candidate, describe_candidate
from agent.strategy.ranking import rank_candidates
from agent.turn.runtime import Runtime
from packages.search.team import tree_states
from packages.search.team.artefacts import Brief, NewTests, Plan, Tests
from packages.search.team.plan_graph.nodes import NodeResult, PlanNode, PlanState
from packages.search.team.plan_graph.plan_check import check_plan
from packages.search.team.plan_graph.plan_run import run_plan
from packages.search.team.plan_graph.team_size import TeamSize, record_size
from packages.search.team.roles import Roles, quote_artefact, read_prompt
from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip
from tools.git.git_process import Git, GitFailed

MOST_REPORT = 2_000
"""Characters of another step's report that a coder sees."""

_ENDED = (Exit.DONE, Exit.NO_TEST_RUNNER)
"""Ends of a coder whose change may be right: no test fails with it."""

_MARKS = {"done": "done", "doing": "doing"}


@dataclass(slots=True, kw_only=True)
class CodeStage:
    """Carries out a plan from one commit.

    size: of the team, which grows when tests fail with a step
    prefix: of the workspace below the repository, "" or with "/" at its end
    """

    roles: Roles
    settings: StrategySettings
    git: Git
    base: str
    brief: Brief | None
    tests: Tests | None
    size: TeamSize
    prefix: str = ""
    commits: dict[str, str] = field(default_factory=dict)

    async def carry_out(self, plan: Plan) -> PlanState:
        """Do the steps as the session's plan shows them, some at the same time; a failed one is replanned alone."""
        runtime = self.roles.turn.runtime
        return await run_plan(
            plan.list_nodes(),
            self.execute,
            at_once=lambda: self.size.children,
            replan=self.replan,
            on_change=lambda state: show_plan(runtime, state),
            offered=self.roles.tool_names,
        )

    async def combine(self, state: PlanState) -> bytes:
        """Return the changes of all steps that are done, with all tests; one that conflicts is done once more."""
        done = [each for each in state.nodes.values() if state.status[each.id] == "done"]
        needed = {need for each in done for need in each.needs}
        whole = await asyncio.to_thread(
            tree_states.add_tests, self.git, self.base, self._select_tests(None), self.prefix
        )
        for node in done:
            if node.id in needed:
                continue  # others build on it and contain it
            try:
                whole = await asyncio.to_thread(
                    tree_states.merge_commits, self.git, [whole, self.commits[node.id]]
                )
            except GitFailed:
                again = await self._do(node, {}, whole, f"{node.id} after the others")
                state.results[node.id] = again
                if again.succeeded:
                    whole = self.commits[node.id]
                else:
                    state.status[node.id] = "failed"
        return await asyncio.to_thread(tree_states.build_patch, self.git, self.base, whole)

    async def execute(self, node: PlanNode, needed: Mapping[str, NodeResult]) -> NodeResult:
        """Do one step after those that it needs; see `Execute`."""
        start = [self.commits[each] for each in needed] or [self.base]
        try:
            begun = await asyncio.to_thread(tree_states.merge_commits, self.git, start)
            tests = await asyncio.to_thread(self._find_missing_tests, begun, {*needed, node.id})
            begun = await asyncio.to_thread(tree_states.add_tests, self.git, begun, tests, self.prefix)
        except GitFailed as error:
            return NodeResult(succeeded=False, evidence=f"what it needs does not fit together: {error}")
        return await self._do(node, needed, begun, node.id)

    async def replan(self, node: PlanNode, failed: NodeResult) -> Sequence[PlanNode]:
        """Return the steps in a failed one's place; see `Replan`."""
        told = clip(f"{failed.evidence}\n{failed.report}".strip(), MOST_REPORT)
        step = json.dumps({"id": node.id, "task": node.task, "done_when": node.evidence}, indent=1)
        self._enlarge(node, failed)
        advice = f"At most {self.size.children} steps are done at the same time."
        prompt = f"{quote_artefact('step', step)}\n\n{quote_artefact('what-happened', told)}\n\n{advice}"

        def check(plan: Plan) -> list[str]:
            nodes = plan.list_nodes()
            return [*check_plan(nodes, offered=self.roles.tool_names), *self.size.find_excess(nodes)]

        plan = await self.roles.ask("replan", Plan, prompt, check, name=f"replan {node.id}")
        if plan is None:
            return ()
        self._hand_tests_on(node.id, [each.id for each in plan.steps])
        # Together they are the failed step, so that they cover the same.
        return [each.model_copy(update={"covers": node.covers}) for each in plan.list_nodes()]

    async def _do(
        self, node: PlanNode, needed: Mapping[str, NodeResult], begun: str, name: str
    ) -> NodeResult:
        patch = await asyncio.to_thread(tree_states.build_patch, self.git, self.base, begun)
        turn, count = self.roles.turn, self.settings.attempts
        names = [name if count == 1 else f"{name} ({number})" for number in range(1, count + 1)]
        made = await turn.gather(
            [
                self.roles.attempt(each, self._build_spec(node, needed, patch, place))
                for place, each in enumerate(names)
            ]
        )
        changes = {each.attempt: await self._list_changes(each, begun) for each in made}
        kept = [
            each for each in made if changes[each.attempt] and not await self._list_changed_tests(each, node)
        ]
        ranking = rank_candidates(kept or made)
        best = turn.choose(ranking) if len(ranking.candidates) > 1 else ranking.best
        if best not in kept or best.exit_code not in _ENDED or best.objection:
            changed = await self._list_changed_tests(best, node) if best.patch else []
            why = f"; it changed tests of the tester: {', '.join(changed)}" if changed else ""
            why += f"; {best.objection}" if best.objection else ""
            return NodeResult(
                succeeded=False,
                report=best.report,
                evidence=f"{describe_candidate(best)}{why}",
                failing_tests=_count_failing_tests(best),
            )
        self.commits[node.id] = await asyncio.to_thread(
            tree_states.commit_changes, self.git, self.base, turn.read_patch(best), begun
        )
        return NodeResult(
            succeeded=True,
            report=best.report,
            evidence=describe_candidate(best),
            paths=changes[best.attempt],
        )

    def _enlarge(self, node: PlanNode, failed: NodeResult) -> None:
        """Let the team grow if tests failed with a step; the size and the reason are logged once."""
        larger = self.size.enlarge(failed.failing_tests, node.id)
        if larger is not self.size:
            self.size = larger
            record_size(self.roles.turn.runtime.session, larger)

    def _build_spec(
        self, node: PlanNode, needed: Mapping[str, NodeResult], patch: bytes, place: int
    ) -> ChildSpec:
        parts = [
            f"Your step: {node.task}",
            f"It is done when: {node.evidence}",
            "The whole task, for context:",
        ]
        parts.append(quote_artefact("task", self.roles.turn.prompt))
        if self.brief is not None:
            parts.append(quote_artefact("brief", self.brief.model_dump_json(indent=1)))
        for key, value in needed.items():
            parts.append(quote_artefact("report", f"{key}: {clip(value.report, MOST_REPORT)}"))
        given = self.settings
        hint = given.hints[place % len(given.hints)] if given.hints else ""
        models = given.models or [self.roles.get_model("coder")]
        return ChildSpec(
            prompt="\n\n".join(parts),
            instructions=f"{read_prompt('coder')}\n{hint}".strip(),
            model=models[place % len(models)],
            temperature=given.temperatures[place % len(given.temperatures)] if given.temperatures else None,
            limits=self.roles.turn.build_limits(),
            place="worktree",
            base=self.base,
            patch=patch,
        )

    def _select_tests(self, done: set[str] | None) -> list[NewTests]:
        """Return the tests that have to pass after some steps, None for all."""
        files = self.tests.files if self.tests is not None else ()
        return [each for each in files if done is None or (each.steps and done.issuperset(each.steps))]

    def _find_missing_tests(self, commit: str, done: set[str]) -> list[NewTests]:
        files = self._select_tests(done)
        missing = set(tree_states.list_changed_tests(self.git, commit, files, self.prefix))
        return [each for each in files if each.path in missing]

    async def _list_changes(self, candidate: Candidate, begun: str) -> tuple[str, ...]:
        """Return the files that a candidate changed in the state that its step began with."""
        patch = self.roles.turn.read_patch(candidate)
        if not patch:
            return ()
        commit = await asyncio.to_thread(tree_states.commit_changes, self.git, self.base, patch, begun)
        paths = await asyncio.to_thread(tree_states.list_changed_files, self.git, begun, commit)
        return tuple(each.removeprefix(self.prefix) for each in paths)

    async def _list_changed_tests(self, candidate: Candidate, node: PlanNode) -> list[str]:
        """Return the tests for a step that its candidate did not leave as they were."""
        files = self._select_tests({node.id, *node.needs})
        patch = self.roles.turn.read_patch(candidate)
        commit = await asyncio.to_thread(tree_states.commit_changes, self.git, self.base, patch, self.base)
        return await asyncio.to_thread(tree_states.list_changed_tests, self.git, commit, files, self.prefix)

    def _hand_tests_on(self, old: str, new: Sequence[str]) -> None:
        """Let the tests of a failed step be those of what takes its place."""
        if self.tests is None:
            return
        files = []
        for each in self.tests.files:
            steps = [step for step in each.steps if step != old]
            if len(steps) != len(each.steps):
                steps += new
            files.append(each.model_copy(update={"steps": tuple(steps)}))
        self.tests = self.tests.model_copy(update={"files": tuple(files)})


def _count_failing_tests(candidate: Candidate) -> int:
    """Return how many tests failed with a candidate; 1 where only that some did is known."""
    return candidate.count_tests("failed") or int(candidate.exit_code == Exit.TESTS_FAIL)


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
