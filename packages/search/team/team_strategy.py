"""`team`: brief, plan, tests, code, executed checks, review. Work that is no work for several stays with the loop.

Each role is a child session that sees the artefacts before it, and no role's reasoning (MetaGPT, AgentMesh,
AgentCoder). The responsible session applies the change, verifies it as a whole, mends it itself where that fails, and
commits it.
"""

from __future__ import annotations

import asyncio

from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.candidate import Candidate
from agent.strategy.strategy_turn import StrategyTurn
from agent.verify.verdict import Claim, Verdict
from packages.search.review.review_verifier import ReviewVerifier
from packages.search.team.artefacts import Brief, Plan, Step, Tests, find_test_problems, name_requirement
from packages.search.team.code_stage import CodeStage
from packages.search.team.plan_graph.nodes import PlanState
from packages.search.team.plan_graph.plan_check import check_plan
from packages.search.team.plan_graph.team_size import TeamSize, estimate_team_size, read_sizes, record_size
from packages.search.team.roles import ROLES, Roles, quote_artefact
from packages.search.team.tree_states import add_tests
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip
from tools.git.git_process import Git, GitFailed


@dataclass(slots=True, kw_only=True)
class TeamReview(ReviewVerifier):
    """A reviewer accepts the change of a team. Always an opinion."""

    _is_over: bool = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`: another turn is reviewed only where the settings say so."""
        self._is_over = True

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `ReviewVerifier.verify`."""
        return None if self._is_over else await ReviewVerifier.verify(self, claim)


@dataclass(slots=True)
class TeamStrategy:
    """Roles with typed artefacts. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = True
    _has_finished: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`. With the advice of a failing verifier the session itself goes on."""
        if self._has_finished:
            return await turn.runtime.loop.run()
        size = await _choose_size(turn)
        if size.children == 1:
            self._has_finished = True
            return await turn.runtime.loop.run()
        roles = Roles(turn)
        turn.check_prices(filter(None, [*map(roles.get_model, ROLES), *self.settings.models]))
        base = await turn.commit_files()
        git = await turn.children.worktrees.open_git()
        task = quote_artefact("task", turn.prompt)
        brief = await roles.ask("brief", Brief, task, lambda _: ())
        if brief is not None:
            task = f"{task}\n\n{quote_artefact('brief', brief.model_dump_json(indent=1))}"
        plan = await self._make_plan(roles, task, brief, size) or _make_one_step(turn.prompt)
        prefix = _find_prefix(turn, git)
        tests = await self._make_tests(roles, task, plan, git, base, prefix)
        stage = CodeStage(
            roles=roles,
            settings=self.settings,
            git=git,
            base=base,
            brief=brief,
            tests=tests,
            size=size,
            prefix=prefix,
        )
        state = await stage.carry_out(plan)
        if stop := turn.runtime.purse.find_stop_reason():
            return TurnEnd(reason="limit", detail=stop)
        self._has_finished = True
        return await self._finish(turn, stage, state, brief)

    async def _make_plan(self, roles: Roles, task: str, brief: Brief | None, size: TeamSize) -> Plan | None:
        count = len(brief.requirements) if brief is not None else 0
        requirements = [name_requirement(number) for number in range(1, count + 1)]

        def check(plan: Plan) -> list[str]:
            nodes = plan.list_nodes()
            found = check_plan(nodes, offered=roles.tool_names, requirements=requirements)
            return [*found, *size.find_excess(nodes)]

        advice = f"At most {size.children} steps are done at the same time."
        return await roles.ask("plan", Plan, f"{task}\n\n{advice}", check)

    async def _make_tests(
        self, roles: Roles, task: str, plan: Plan, git: Git, base: str, prefix: str
    ) -> Tests | None:
        ids = [each.id for each in plan.steps]

        def check(tests: Tests) -> list[str]:
            problems = list(find_test_problems(tests, ids))
            if not problems:
                try:
                    add_tests(git, base, tests.files, prefix)
                except GitFailed as error:
                    problems.append(f"the files cannot be new: {clip(error.message, 300)}")
            return problems

        prompt = f"{task}\n\n{quote_artefact('plan', plan.model_dump_json(indent=1))}"
        return await roles.ask("tester", Tests, prompt, check)

    async def _finish(
        self, turn: StrategyTurn, stage: CodeStage, state: PlanState, brief: Brief | None
    ) -> TurnEnd:
        """Bring the change into the workspace; the ordinary end of the turn verifies and commits it."""
        patch = await stage.combine(state)
        if patch and not turn.has_applied:
            ref = turn.runtime.workspace.artifacts.save(patch)
            applied = await turn.apply(Candidate(attempt=0, patch=ref))
            if applied is not None and applied.failed:
                return await turn.finish(f"The change could not be applied: {applied.text}", "not achieved")
        _add_reviewer(turn)
        lines = [
            f"- {node.id}: {state.status[node.id]}: {_describe_result(state, node.id)}"
            for node in state.nodes.values()
            if state.status[node.id] != "replaced"
        ]
        if stage.tests is None:
            lines.append("- no tests were written for it")
        title = brief.title if brief is not None else clip(turn.prompt.split("\n", 1)[0], 72)
        text = "\n".join([title, "", *lines])
        return await turn.finish(text, "done" if state.succeeded else "not achieved")


async def _choose_size(turn: StrategyTurn) -> TeamSize:
    """Return how many children the task is worth, as logged before a kill, or estimated from the code and logged."""
    from tools.code.code_tool import query_index

    session, workspace, task = turn.runtime.session, turn.runtime.workspace, turn.prompt
    if (known := next(read_sizes(session), None)) is not None:
        first = known.partition(" ")[0]
        return TeamSize(children=int(first) if first.isdecimal() else 1, reason=known)
    try:
        size = await asyncio.to_thread(query_index, workspace, lambda index: estimate_team_size(index, task))
    except UserError as error:
        size = TeamSize(children=1, reason=f"single: the code could not be indexed: {error.message}")
    record_size(session, size)
    return size


def _make_one_step(task: str) -> Plan:
    """Return the plan of a team whose planner gave none."""
    return Plan(steps=(Step(id="all", task=clip(" ".join(task.split()), 600), done_when="the task is done"),))


def _find_prefix(turn: StrategyTurn, git: Git) -> str:
    inner = turn.runtime.workspace.root.resolve().relative_to(git.root.resolve()).as_posix()
    return "" if inner == "." else f"{inner}/"


def _describe_result(state: PlanState, node: str) -> str:
    result = state.results.get(node)
    if result is None:
        return "something that it needs has failed"
    return clip(" ".join((result.report if result.succeeded else result.evidence).split()), 300)


def _add_reviewer(turn: StrategyTurn) -> None:
    """Let a reviewer give its opinion at the end of this turn, where the settings do not want one anyway."""
    verifiers = turn.runtime.conclusion.verifiers
    verifiers[:] = [each for each in verifiers if not isinstance(each, TeamReview)]
    if not any(each.name == "review" for each in verifiers):
        verifiers.append(TeamReview(runtime=turn.runtime))
