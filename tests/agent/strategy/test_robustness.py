"""Turns of each strategy that are killed, run out of money, or are interrupted: nothing is lost, paid twice or left."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.events import AttemptEvent, CandidateEvent, End, MessageEvent
from agent.session.log import read_events
from agent.session_settings import LimitSettings, StrategySettings
from agent.strategy import strategy_turn
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from sandbox.policy.decision import Mode
from tests.support.cli import CHECKOUT, call, script
from tests.support.processes import wait_until_gone
from tests.support.sessions import play_session
from tests.support.strategy_stories import Story, build_settings, read_events_of, tell_story

pytestmark = pytest.mark.slow

PRICE = 0.01
USAGE = {"input": 100, "output": 10, "cost": PRICE}
STRATEGIES = ("pipeline", "sample", "tree", "evolve", "auto")
ATTEMPTS = 3
PROCESSORS = 2

Driver = subprocess.Popen[str]


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.agent.strategy.kill_driver import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(CHECKOUT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    monkeypatch.setattr(strategy_turn, "_count_processors", lambda: PROCESSORS)
    return Story.create(tmp_path)


def write_models(folder: Path, name: str) -> list[str]:
    """Return models for the attempts of a strategy: two are wrong, each in its own way, and the third one is right."""
    models = []
    for number, new in enumerate(("sum(prices) + 1", "sum(prices) + 2", "sum(prices)")):
        if name == "pipeline":
            edit = f"cart.py\n<<<<<<< SEARCH\n    return -sum(prices)\n=======\n    return {new}\n>>>>>>> REPLACE\n"
            turns: Sequence[dict[str, Any]] = [{"text": edit, "usage": USAGE}]
        else:
            calls = [call("edit", path="cart.py", old="-sum(prices)", new=new)]
            turns = [{"calls": calls, "usage": USAGE}, {"text": "Done.", "usage": USAGE, "repeat": 9}]
        models.append(script(folder, turns, f"{number}.json"))
    return models


def sum_paid(shop: Story) -> float:
    """Return the dollars of all answers in the logs of the session and its attempts."""
    logs = [each for each in shop.log.parent.iterdir() if (each / "log.jsonl").exists()]
    return sum(
        event.usage.cost or 0.0
        for each in logs
        for event in read_events(each)
        if isinstance(event, MessageEvent)
    )


def check_nothing_is_left(shop: Story, folder: Path) -> None:
    """Check that no process and no worktree of an attempt is left."""
    assert wait_until_gone(folder) == []
    assert shop.repo.git("worktree", "list").count("\n") == 1
    worktrees = Path(os.environ["PATCHWRIGHT_HOME"], "cache", "worktrees")
    assert list(worktrees.glob("*")) == []


@pytest.mark.parametrize(
    ("name", "kill"),
    [
        ("pipeline", ["attempt", 2]),
        ("sample", ["candidate", 2]),
        ("tree", ["attempt", 3]),
        ("evolve", ["choice", 1]),
        ("auto", ["signal", 1]),
    ],
)
def test_a_killed_turn_goes_on_with_the_attempts_that_had_ended(
    driver: Driver, shop: Story, tmp_path: Path, name: str, kill: list[Any]
) -> None:
    models = write_models(tmp_path, name)
    strategy = {"name": name, "attempts": ATTEMPTS, "models": models}
    job = {
        "root": str(shop.repo.root),
        "model": models[0],
        "strategy": strategy,
        "kill": kill,
        "prompt": "mend the total",
        "env": dict(os.environ),
    }
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write(json.dumps(job) + "\n")
    driver.stdin.flush()
    assert json.loads(driver.stdout.readline()) == -9
    sessions = Path(os.environ["PATCHWRIGHT_HOME"], "data").glob("projects/*/sessions/*")
    (shop.log,) = [each for each in sessions if not is_child(each)]
    before = {each.attempt: each.child for each in read_events_of(shop, CandidateEvent)}

    async def go_on(runtime: Runtime) -> End:
        return await runtime.run_turn(None, choose_work(runtime, StrategySettings(), None))

    settings = build_settings(models[0], StrategySettings())
    end: End = play_session(shop.repo.root, settings, go_on, session=shop.log.name)
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    made = [each.number for each in read_events_of(shop, AttemptEvent)]
    ended = read_events_of(shop, CandidateEvent)
    assert all(made.count(number) == 1 for number in before), "none that had ended is made again"
    assert len({each.attempt for each in ended}) == len(ended)
    assert before.items() <= {each.attempt: each.child for each in ended}.items()
    assert end.usage.cost == pytest.approx(sum_paid(shop)), "each answer is paid once, those of the kill too"
    check_nothing_is_left(shop, tmp_path)


def is_child(folder: Path) -> bool:
    first = next(read_events(folder))
    return bool(getattr(first, "started_by", ""))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_budget_is_exceeded_by_no_more_than_the_calls_under_way(
    shop: Story, tmp_path: Path, name: str
) -> None:
    limit = 2.5 * PRICE
    models = write_models(tmp_path, name)[:2]
    strategy = StrategySettings(name=name, attempts=8, models=models)
    end = tell_story(shop, models[0], strategy, limits=LimitSettings(max_cost=limit))
    spent = end.usage.cost or 0.0
    assert spent == pytest.approx(sum_paid(shop))
    assert PRICE < spent <= limit + PROCESSORS * PRICE
    begun = {each.number: each.child for each in read_events_of(shop, AttemptEvent)}
    ended = {each.attempt: each.child for each in read_events_of(shop, CandidateEvent)}
    assert begun == ended, "one that the budget did not pay for is no attempt"
    assert len(begun) < 8
    assert end.outcome in ("limit", "tests-fail")
    check_nothing_is_left(shop, tmp_path)


@pytest.mark.parametrize("name", STRATEGIES)
def test_an_interrupted_turn_leaves_no_worktree_and_no_process(
    shop: Story, tmp_path: Path, name: str
) -> None:
    mark = tmp_path / "mark"
    waits = {"calls": [call("shell", command=f"touch {mark}; sleep 600; true {tmp_path}")]}
    edit = "cart.py\n<<<<<<< SEARCH\n    return -sum(prices)\n=======\n    return 1\n>>>>>>> REPLACE\n"
    turns = [{"text": edit, "delay": 600}] if name == "pipeline" else [waits]
    model = script(tmp_path, turns)
    strategy = StrategySettings(name=name, attempts=ATTEMPTS)

    async def interrupt(runtime: Runtime) -> End:
        shop.log = runtime.session.folder
        turn = asyncio.ensure_future(
            runtime.run_turn("mend the total", choose_work(runtime, strategy, "mend the total"))
        )
        while not (mark.exists() or (name == "pipeline" and read_events_of(shop, AttemptEvent))):
            assert not turn.done()
            await asyncio.sleep(0.02)
        runtime.stop()
        return await turn

    settings = build_settings(model, strategy)
    settings = replace(settings, access=replace(settings.access, mode=Mode.FULL))
    end: End = play_session(shop.repo.root, settings, interrupt)
    assert end.outcome == "interrupted"
    assert read_events_of(shop, CandidateEvent) == [], "a resumed turn makes it again"
    check_nothing_is_left(shop, tmp_path)
