"""`auto`: the strategy for one turn, by its task, model, budget, and how turns have ended in this repository.

The reason is one line of the log; a resumed turn reads its choice there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from agent.events import Signal
from agent.exit_codes import Exit
from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.refinement import Refinement
from agent.strategy.strategy_table import make_strategy
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from agent.session.session_index import SessionSummary
    from agent.strategy.strategy import Strategy

NAME = "strategy-auto"
"""Name of the signal that keeps the choice with its reason: "tree: …"."""

NEWEST, LEAST_PAST = 20, 4
"""Sessions of this repository that are looked at, and how many say something of the next one."""

OFTEN = 1 / 3
"""Share of failed sessions from which on several attempts are made. Twenty sessions of an author who fails six times in
ten show less than half of them failed in one repository of six, and less than a third in hardly any."""

MOST_DOLLARS = 3
"""Sessions that a budget has to pay for, where more than one may be needed."""

_FAILED = {Exit.TESTS_FAIL.label, Exit.NOT_ACHIEVED.label}
_JUDGED = {*_FAILED, Exit.DONE.label}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a choice is made from.

    obstacle: why no change of an attempt could be brought back, "" if it could
    is_weak: the model cannot drive a session; failing: tests that fail now; files: those with one of these tests
    has_tests: the suite ran; places: independent ones that the task is about
    past: outcomes of the newest single sessions here, attempts among them; cost: their mean in dollars
    kind: of the tasks of these sessions, as a word; "" where they are of all kinds
    budget: dollars left; None: not known
    """

    obstacle: str = ""
    is_weak: bool = False
    has_tests: bool = False
    failing: int = 0
    files: int = 0
    places: int = 1
    past: Sequence[str] = ()
    kind: str = ""
    cost: float | None = None
    budget: float | None = None


def choose_strategy(seen: Situation) -> tuple[str, str]:
    """Return the name of a strategy, and why it is chosen."""
    if seen.obstacle:
        return "single", seen.obstacle
    tests = (
        f"{seen.failing} test{'' if seen.failing == 1 else 's'} fail{'s' if seen.failing == 1 else ''} now"
    )
    if seen.is_weak:
        return "pipeline", "the model is too small to drive tools"
    if seen.budget is not None and seen.cost and seen.budget < MOST_DOLLARS * seen.cost:
        return (
            "single",
            f"${seen.budget:.2f} is less than {MOST_DOLLARS} sessions here cost, ${seen.cost:.2f} each",
        )
    if seen.failing and seen.files > 1:
        return "evolve", f"{tests}, in {seen.files} files: attempts may mend one each"
    if seen.failing:
        return "tree", f"{tests}, and tests tell how far a change has come"
    judged = [each for each in seen.past if each in _JUDGED]
    failed = sum(each in _FAILED for each in judged)
    if seen.has_tests and len(judged) >= LEAST_PAST and failed >= OFTEN * len(judged):
        told = f" that asked for a {seen.kind}" if seen.kind else ""
        return "sample", f"{failed} of the last {len(judged)} sessions here{told} failed"
    if seen.places > 1:
        return "team", f"the task is about {seen.places} independent places"
    return "single", "no test fails now, and one session is likely to do it"


def describe_tests(report: Mapping[str, Any]) -> Situation:
    """Return what the suite's report before the turn says, and nothing else."""
    failures: Sequence[Mapping[str, Any]] = report.get("failures", ())
    return Situation(
        has_tests=report.get("outcome") in ("passed", "failed"),
        failing=len(failures),
        files=len({str(each.get("file")) for each in failures}),
    )


@dataclass(slots=True)
class Auto:
    """Chooses a strategy, and lets it make the turn. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False
    _chosen: Strategy | None = None

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`. With the advice of a failing verifier the chosen one goes on."""
        if self._chosen is None:
            self._chosen = await self._choose(turn)
        self.takes_advice = self._chosen.takes_advice
        return await self._chosen.run(turn)

    async def _choose(self, turn: StrategyTurn) -> Strategy:
        name = _read_choice(turn)
        if not name:
            name, why = choose_strategy(await _look_at(turn))
            turn.runtime.session.append(Signal(name=NAME, detail=f"{name}: {why}"))
        return make_strategy(replace(self.settings, name=name))


def _read_choice(turn: StrategyTurn) -> str:
    history = turn.runtime.session.replayed
    for event in history.read_events_from(f"e{history.find_newest_place('prompt')}"):
        if isinstance(event, Signal) and event.name == NAME:
            return event.detail.partition(":")[0]
    return ""


async def _look_at(turn: StrategyTurn) -> Situation:
    from agent.context.profile.profiles import choose_profile, is_below_a_billion

    runtime = turn.runtime
    if runtime.policy.mode is Mode.READ_ONLY:
        return Situation(obstacle="nothing may be changed in read-only mode")
    try:
        await turn.commit_files()
    except UserError as error:
        return Situation(obstacle=error.message)
    report = await Refinement(turn).read_base_report()
    past = await asyncio.to_thread(_list_past, turn)
    alike, kind = select_alike(past, turn.prompt)
    costs = [each.cost for each in alike if each.cost]
    name, window = runtime.model.name, runtime.model.window
    profile = choose_profile(runtime.settings.models.profile, window, name)
    seen = describe_tests(report)
    return replace(
        seen,
        is_weak=profile.name != "generic" or is_below_a_billion(name),
        places=1 if seen.failing else await _count_places(turn),
        past=[each.outcome for each in alike],
        kind=kind,
        cost=mean(costs) if costs else None,
        budget=runtime.purse.compute_dollars_left(),
    )


def _list_past(turn: StrategyTurn) -> list[SessionSummary]:
    """Return the newest single sessions in this repository, without this one. Blocking."""
    from agent.session.session_index import load_session_summaries

    environment = turn.runtime.environment
    if environment is None:
        return []
    root = turn.runtime.workspace.root
    return select_past(load_session_summaries(environment.home, root), turn.runtime.session.id, str(root))


def select_alike(past: Sequence[SessionSummary], prompt: str) -> tuple[list[SessionSummary], str]:
    """Return the sessions whose task was of the prompt's kind, and the kind; all of them, and "", where these are few.

    A repair may need attempts where a change needs none.
    """
    from agent.prompt.prompt_reader import read_intent

    kind = read_intent(prompt).kind
    alike = [each for each in past if read_intent(each.title).kind == kind]
    if kind in ("repair", "change") and sum(each.outcome in _JUDGED for each in alike) >= LEAST_PAST:
        return alike, kind
    return list(past), ""


def select_past(found: Sequence[SessionSummary], own: str, root: str) -> list[SessionSummary]:
    """Return the newest sessions that tell how one by itself ends and what it costs.

    Of a session with attempts in worktrees these count, and not what several of them came to together: else a strategy
    that pays would look needless. own: id of the present session, which counts with nothing; root: of the project
    """
    attempts = {each.parent for each in found if each.parent and each.project != root}
    return [
        each
        for each in found
        if own not in (each.id, each.parent)
        and (each.project != root if each.parent else each.id not in attempts)
    ][:NEWEST]


async def _count_places(turn: StrategyTurn) -> int:
    from packages.search.team.plan_graph.team_size import estimate_team_size
    from tools.code.code_tool import query_index

    task = turn.prompt
    try:
        size = await asyncio.to_thread(
            query_index, turn.runtime.workspace, lambda index: estimate_team_size(index, task)
        )
    except UserError:  # nothing is indexed here
        return 1
    return size.children
