"""Nothing advisory turns an outcome: opinions and notices, in any number and place, beside any evidence."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import Event
from agent.model.protocol import Reply
from agent.monitor.answers import (
    GO_ON,
    ActionAnswer,
    ReplyAnswer,
    RequestAnswer,
    StepAnswer,
    TellModel,
    TellPerson,
)
from agent.monitor.monitor import Monitor, Turn
from agent.session_request import SessionRequest
from agent.verify.verdict import Claim, Evidence, Verdict, combine_verdicts, rank_verdicts
from tests.support.child_sessions import settings_for
from tests.support.cli import call, script
from tests.support.repo import Repo
from tools.core.action_guard import BegunAction

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))

NAMES = ("tests", "weakened-tests", "gaming", "lint", "reproduction", "answer", "review", "judge", "rubric")


def verdicts(*evidence: Evidence) -> st.SearchStrategy[Verdict]:
    return st.builds(
        Verdict,
        outcome=st.sampled_from(["pass", "fail", "unknown"]),
        evidence=st.sampled_from(evidence),
        name=st.sampled_from(NAMES),
        detail=st.sampled_from(["", "not convincing"]),
        advice=st.sampled_from(["", "do it again"]),
    )


FACTS = st.lists(verdicts("executed", "static"), max_size=4)
OPINIONS = st.lists(verdicts("opinion"), min_size=1, max_size=5)


@pytest.mark.slow
@given(facts=FACTS, opinions=OPINIONS, data=st.data())
def test_opinions_never_change_what_the_evidence_says(
    facts: list[Verdict], opinions: list[Verdict], data: st.DataObject
) -> None:
    mixed = data.draw(st.permutations([*facts, *opinions]))
    assert combine_verdicts(mixed) == combine_verdicts(facts)
    assert rank_verdicts(mixed)[0] == rank_verdicts(facts)[0]
    assert not any(each.is_failure for each in opinions)


@dataclass(slots=True)
class Fixed:
    """A verifier with one answer."""

    verdict: Verdict
    withholds_commit: bool = True

    @property
    def name(self) -> str:
        return self.verdict.name

    def begin_turn(self) -> None: ...
    def track_event(self, event: Event) -> None: ...

    async def verify(self, claim: Claim) -> Verdict | None:
        return self.verdict


class Adviser(Monitor):
    """Tells at the points of `points`, and raises at those of `faults`."""

    def __init__(self, points: frozenset[str], faults: frozenset[str]) -> None:
        self._points = points
        self._faults = faults

    def before_action(self, begun: BegunAction) -> ActionAnswer:
        return TellModel(text="think twice") if self._tells("action") else GO_ON

    def before_request(self) -> Sequence[RequestAnswer]:
        return (TellPerson(text="another request"),) if self._tells("request") else ()

    def before_step(self, turn: Turn) -> StepAnswer:
        return TellPerson(text="another step") if self._tells("step") else GO_ON

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        return TellPerson(text="it said something") if self._tells("reply") else GO_ON

    def _tells(self, point: str) -> bool:
        if point in self._faults:
            raise ValueError("a fault of the monitor")
        return point in self._points


POINTS = st.frozensets(st.sampled_from(["action", "request", "step", "reply"]))


def end_turn(
    folder: Path,
    facts: Sequence[Verdict],
    opinions: Sequence[tuple[int, Verdict]],
    monitors: Sequence[Monitor],
) -> tuple[str, int, str, bool, list[str]]:
    """Return outcome, exit code, summary, whether something was committed, and changed files of a real turn."""
    repo = Repo(folder / "shop")
    repo.write("cart.py", "total = 0\n")
    repo.commit_all()
    model = script(
        folder,
        [{"calls": [call("edit", path="cart.py", old="total = 0", new="total = 1")]}, {"text": "It is one."}],
    )
    own = settings_for(model)
    tools = replace(own.tools, tests=replace(own.tools.tests, command="true"))

    async def run() -> tuple[str, int, str, bool, list[str]]:
        runtime = assemble_runtime(
            replace(own, tools=tools, commit="turn"),
            SessionRequest(working=repo.root),
            Home.from_environment(),
        )
        verifiers = runtime.conclusion.verifiers
        verifiers += [Fixed(each) for each in facts]
        for place, each in opinions:
            # After the suite, without which nothing is committed in any case.
            verifiers.insert(1 + place % len(verifiers), Fixed(each))
        for monitor in monitors:
            runtime.loop.monitors.add_monitor(monitor)
        try:
            end = await runtime.run_turn("let total be one")
        finally:
            await runtime.close()
        return end.outcome, end.exit_code, end.summary, bool(end.commit), end.files

    found = asyncio.run(run())
    assert (repo.head() != repo.git("rev-list", "--max-parents=0", "HEAD").strip()) == found[3]
    return found


@pytest.mark.slow
@settings(max_examples=4 * STRESS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    facts=st.lists(verdicts("executed", "static").map(lambda each: replace(each, advice="")), max_size=2),
    opinions=st.lists(st.tuples(st.integers(0, 9), verdicts("opinion")), min_size=1, max_size=4),
    points=POINTS,
    faults=POINTS,
)
def test_advice_never_turns_a_turn(
    tmp_path_factory: pytest.TempPathFactory,
    facts: list[Verdict],
    opinions: list[tuple[int, Verdict]],
    points: frozenset[str],
    faults: frozenset[str],
) -> None:
    plain = end_turn(tmp_path_factory.mktemp("plain"), facts, [], [])
    advised = end_turn(tmp_path_factory.mktemp("advised"), facts, opinions, [Adviser(points, faults)])
    assert advised == plain
    assert plain[3] == (
        not any(each.is_failure and each.name not in ("tests", "weakened-tests") for each in facts)
    )
