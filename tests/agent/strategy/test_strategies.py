"""Strategies on real sessions, in one process: what attempts are given, what they may spend, what is logged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.children.spec import ChildResult, ChildSpec
from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    ChildProgress,
    ChoiceEvent,
    End,
    Event,
    VerdictEvent,
)
from agent.exit_codes import Exit
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.session.log import read_events
from agent.session.usage_report import UsageReport
from agent.session_settings import LimitSettings, SessionSettings, StrategySettings
from agent.strategy.ranking import rank_candidates
from agent.strategy.single import Single
from agent.strategy.strategy import run_strategy
from agent.strategy.strategy_table import choose_work
from agent.strategy.strategy_turn import StrategyTurn
from agent.turn.runtime import Runtime
from agent.verify.verdict import Verdict
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval, Mode
from tests.support.cli import CHECKOUT, call, script
from tests.support.loopback import Loopback
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tests.support.strategy_stories import TEST
from tools.core.tool_settings import ToolSettings

pytestmark = pytest.mark.slow


USAGE = {"input": 1000, "output": 100}
PRICES = CatalogSettings(window=100_000, input=10.0, output=50.0)
CALL = 0.015
"""Dollars of a call with that usage at these prices."""

EDIT = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")], "usage": USAGE}
DONE = {"text": "It adds up.", "usage": USAGE}


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(prices):\n    return -sum(prices)\n")
    repo.commit_all()
    return repo


def settings_for(model: str, **more: Any) -> SessionSettings:
    tools = ToolSettings()
    tools = replace(tools, tests=replace(tools.tests, command="true"))
    access = AccessSettings(approval=Approval.NEVER, sandbox="unconfined")
    return SessionSettings(model=model, access=access, tools=tools, **more)


def select(runtime: Runtime, kind: type[Any]) -> list[Any]:
    return [each for each in read_events(runtime.session.folder) if isinstance(each, kind)]


def test_each_attempt_gets_its_model_temperature_and_hint(shop: Repo) -> None:
    given = StrategySettings(
        name="sample",
        attempts=3,
        models=["openai/a", "openai/b"],
        temperatures=[0.2, 0.9, 1.0],
        hints=["Change as little as possible."],
    )
    with Loopback([{"text": "It is a cart.", "repeat": 9}]) as server:
        settings = settings_for("openai/own", api_base=server.url, strategy=given)

        async def story(runtime: Runtime) -> End:
            seen: list[Event] = []
            runtime.session.subscribe(seen.append)
            end = await runtime.run_turn("what is it?", choose_work(runtime, given, "what is it?"))
            begun = select(runtime, AttemptEvent)
            assert sorted((each.number, each.model, each.temperature) for each in begun) == [
                (1, "openai/a", 0.2),
                (2, "openai/b", 0.9),
                (3, "openai/a", 1.0),
            ]
            assert {each.hint for each in begun} == set(given.hints)
            children = {each.child for each in begun}
            assert {each.child for each in seen if isinstance(each, ChildProgress)} == children
            assert select(runtime, ChoiceEvent) == []
            return end

        end = play_session(shop.root, settings, story)
        asked = [(each.body["model"], each.body["temperature"]) for each in server.requests]
        sent = [json.dumps(each.body["messages"]) for each in server.requests]
    assert sorted(asked) == [("a", 0.2), ("a", 1.0), ("b", 0.9)]
    assert all("# Your part\\n\\nChange as little as possible." in each for each in sent)
    assert (end.outcome, end.summary) == ("done", "It is a cart.")


def test_one_purse_pays_for_all_and_the_rest_comes_back(shop: Repo) -> None:
    limit = 0.2
    with Loopback([EDIT, *[{"calls": [call("list")], "usage": USAGE}] * 200]) as server:
        settings = settings_for(
            "openai/mine",
            api_base=server.url,
            limits=LimitSettings(max_cost=limit),
            models=ModelSettings(catalog={"openai/mine": PRICES}),
        )
        strategy = StrategySettings(name="sample", attempts=3)

        async def story(runtime: Runtime) -> None:
            end = await runtime.run_turn("mend it", choose_work(runtime, strategy, "mend it"))
            spent = end.usage.cost or 0.0
            assert spent == pytest.approx(len(server.requests) * CALL)
            candidates = select(runtime, CandidateEvent)
            assert spent == pytest.approx(sum(each.usage.cost or 0 for each in candidates))
            assert limit / 2 < spent <= limit
            report = UsageReport()
            for event in read_events(runtime.session.folder):
                report.handle_event(event)
            assert report.total.usage.cost == pytest.approx(spent)
            assert [each.role for each in report.items] == ["children"]
            assert runtime.purse.compute_dollars_left() == pytest.approx(limit - spent)

        play_session(shop.root, settings, story)


def test_the_choice_and_what_led_to_it_are_in_the_log(shop: Repo, tmp_path: Path) -> None:
    model = script(tmp_path, [EDIT, DONE])
    strategy = StrategySettings(name="sample", attempts=2)

    async def story(runtime: Runtime) -> None:
        end = await runtime.run_turn("mend it", choose_work(runtime, strategy, "mend it"))
        assert (end.outcome, end.summary, end.files) == ("done", "It adds up.", ["cart.py"])
        kinds = [each.kind for each in read_events(runtime.session.folder)]
        order = ["prompt", "attempt", "candidate", "choice", "message", "end"]
        assert [kinds.index(each) for each in order] == sorted(kinds.index(each) for each in order)
        judged = {each.attempt for each in select(runtime, VerdictEvent) if each.name == "tests"}
        assert judged == {1, 2, None}, "each attempt, and the change in the workspace"
        (choice,) = select(runtime, ChoiceEvent)
        assert (choice.attempt, choice.order) == (1, [1, 2])
        following = runtime.projection.build_request().messages
        assert [each.text for each in following] == ["mend it", "It adds up."]

    play_session(shop.root, settings_for(model), story)
    assert "return sum" in shop.read("cart.py")
    assert shop.git("worktree", "list").count("\n") == 1


class Judged:
    """Two attempts alike, and a judge who likes the second."""

    takes_advice = False

    async def run(self, turn: StrategyTurn) -> Any:
        judged: list[str] = []

        async def judge(result: ChildResult) -> Verdict:
            judged.append(result.child)
            return Verdict(outcome="pass" if len(judged) == 2 else "fail", evidence="opinion", name="judge")

        spec = ChildSpec(prompt=turn.prompt, limits=turn.build_limits(), place="worktree")
        made = [await turn.attempt(number, spec, checks=[judge]) for number in (1, 2)]
        best = turn.choose(rank_candidates(made))
        await turn.apply(best)
        return await turn.finish(best.report, "done")


def test_a_verdict_of_the_strategy_decides_between_equals(shop: Repo, tmp_path: Path) -> None:
    async def story(runtime: Runtime) -> None:
        await run_strategy(runtime, Judged(), "mend it", StrategySettings(name="judged"))
        (choice,) = select(runtime, ChoiceEvent)
        assert (choice.attempt, choice.reason) == (2, "equal by the tests, and preferred by opinion")
        opinions = [each for each in select(runtime, VerdictEvent) if each.name == "judge"]
        assert [(each.attempt, each.outcome) for each in opinions] == [(1, "fail"), (2, "pass")]

    play_session(shop.root, settings_for(script(tmp_path, [EDIT, DONE])), story)


class Advised:
    """Fails the tests each time; its one attempt is made in the first run only."""

    takes_advice = True
    runs = 0

    async def run(self, turn: StrategyTurn) -> Any:
        self.runs += 1
        spec = ChildSpec(prompt=turn.prompt, limits=turn.build_limits(), place="worktree")
        made = await turn.attempt(1, spec)
        await turn.apply(made)
        return await turn.finish("The sign is other now.", "done")


def test_a_strategy_that_is_run_again_for_advice_pays_for_an_attempt_once(shop: Repo, tmp_path: Path) -> None:
    shop.write("cart.py", "def total(prices):\n    return sum(prices)\n")
    shop.write("test_cart.py", TEST)
    shop.commit_all()
    worse = {"calls": [call("edit", path="cart.py", old="sum(", new="-sum(")], "usage": USAGE}
    model = script(tmp_path, [worse, {**DONE, "usage": USAGE, "repeat": 9}])
    settings = settings_for(model)
    tests = replace(settings.tools.tests, command="python3 -m unittest")
    settings = replace(settings, tools=replace(settings.tools, tests=tests))
    strategy = Advised()

    async def story(runtime: Runtime) -> None:
        end = await run_strategy(runtime, strategy, "change it", StrategySettings(name="advised"))
        (candidate,) = select(runtime, CandidateEvent)
        assert strategy.runs > 1
        assert candidate.usage.input > 0
        assert end.usage.input == candidate.usage.input

    play_session(shop.root, settings, story)


def test_an_attempt_that_ended_right_before_a_kill_is_judged_and_not_made_again(
    shop: Repo, tmp_path: Path
) -> None:
    settings = settings_for(script(tmp_path, [EDIT, DONE]))
    strategy = StrategySettings(name="sample", attempts=2)

    async def attempt(runtime: Runtime) -> Path:
        await runtime.run_turn("mend it", choose_work(runtime, strategy, "mend it"))
        return runtime.session.folder

    folder: Path = play_session(shop.root, settings, attempt)
    cut_log(folder, b'"kind":"child"', b'"ended"')
    shop.git("checkout", "cart.py")
    (first,) = [each.child for each in read_events(folder) if isinstance(each, ChildEvent)][-1:]

    async def go_on(runtime: Runtime) -> End:
        end = await runtime.run_turn(None, choose_work(runtime, StrategySettings(), None))
        candidates = select(runtime, CandidateEvent)
        assert sorted(each.attempt for each in candidates) == [1, 2]
        (kept,) = [each for each in candidates if each.child == first]
        assert (kept.report, kept.files, kept.lines > 0) == ("It adds up.", ["cart.py"], True)
        assert kept.verification.startswith("passed")
        assert {each.attempt for each in select(runtime, VerdictEvent)} == {1, 2, None}
        again = [each.number for each in select(runtime, AttemptEvent)].count(kept.attempt)
        assert again == 1
        return end

    end = play_session(shop.root, settings, go_on, session=folder.name)
    assert (end.outcome, end.summary) == ("done", "It adds up.")
    assert "return sum" in shop.read("cart.py")


def test_a_patch_that_a_kill_left_applied_is_not_applied_again(shop: Repo, tmp_path: Path) -> None:
    settings = settings_for(script(tmp_path, [EDIT, DONE]))
    strategy = StrategySettings(name="sample", attempts=2)

    async def attempt(runtime: Runtime) -> Path:
        await runtime.run_turn("mend it", choose_work(runtime, strategy, "mend it"))
        return runtime.session.folder

    folder: Path = play_session(shop.root, settings, attempt)
    cut_log(folder, b'"kind":"snapshot"')

    async def go_on(runtime: Runtime) -> End:
        return await runtime.run_turn(None, choose_work(runtime, StrategySettings(), None))

    end: End = play_session(shop.root, settings, go_on, session=folder.name)
    assert (end.outcome, end.summary) == ("done", "It adds up."), end
    assert len([each for each in read_events(folder) if isinstance(each, ChoiceEvent)]) == 1
    assert "return sum" in shop.read("cart.py")


def cut_log(folder: Path, *words: bytes) -> None:
    """Cut a log after the first line with these words: what a kill at that moment leaves."""
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if all(word in line for word in words))
    log.write_bytes(b"".join(lines[: last + 1]))
    for name in ("log.index", "log.state.json"):
        (folder / name).unlink(missing_ok=True)


def test_nothing_is_attempted_that_could_not_be_applied(shop: Repo, tmp_path: Path) -> None:
    model = script(tmp_path, [DONE])
    settings = settings_for(model)
    bound = replace(settings, access=replace(settings.access, mode=Mode.READ_ONLY))
    strategy = StrategySettings(name="sample", attempts=2)

    async def story(runtime: Runtime) -> None:
        end = await runtime.run_turn("mend it", choose_work(runtime, strategy, "mend it"))
        assert end.exit_code == Exit.USAGE
        assert "read-only" in end.summary
        assert select(runtime, AttemptEvent) == []

    play_session(shop.root, bound, story)


def test_single_is_the_loop_and_is_told_what_fails(shop: Repo, tmp_path: Path) -> None:
    """With a strategy that takes advice, a failing suite comes back to the model as usual."""
    model = script(
        tmp_path, [EDIT, DONE, {"text": "I cannot.", "expect": ["fail"]}, {"text": "No.", "repeat": 9}]
    )
    settings = settings_for(model)
    failing = replace(
        settings, tools=replace(settings.tools, tests=replace(settings.tools.tests, command="false"))
    )

    async def story(runtime: Runtime) -> list[str]:
        given = StrategySettings(name="single")
        assert choose_work(runtime, given, "mend it") is None, "sessions do not need it for that"
        end = await run_strategy(runtime, Single(), "mend it", given)
        assert end.exit_code == Exit.TESTS_FAIL
        return [each.kind for each in read_events(runtime.session.folder)]

    assert "steer" in play_session(shop.root, failing, story)


def test_a_session_without_a_strategy_imports_none() -> None:
    program = (
        "import sys, agent.assemble, agent.turn.runtime, cli.invocation, cli.commands.run.one_shot\n"
        "import agent.strategy.strategy_table, cli.output.lines.event_lines, cli.tui.screen.session_view\n"
        "parts = ('agent.strategy.', 'agent.children.', 'packages.search.programs', 'packages.search')\n"
        "made = [each for each in sys.modules if each.startswith(parts)]\n"
        "print(sorted(made))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(["agent.strategy.strategy_table"])
