"""The budget of a turn of the loop alone: kept by its prompt, so that it holds after a kill, and for that turn only."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.budget.budget_text import parse_budget
from agent.budget.limits import Limit, MaxCost, MaxTime, MaxTokens
from agent.budget.purse import Purse
from agent.events import End, Prompt
from agent.session_settings import StrategySettings
from agent.strategy.single import BudgetedLoop
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from tests.support.cli import call, script
from tests.support.sessions import play_session
from tests.support.strategy_stories import Story, build_settings, read_events_of

PRICE = 0.01
STEP = {"calls": [call("read", path="cart.py")], "usage": {"input": 100, "output": 10, "cost": PRICE}}


@pytest.mark.slow
def test_a_resumed_turn_keeps_its_budget_and_the_next_one_has_none(tmp_path: Path) -> None:
    shop = Story.create(tmp_path)
    settings = build_settings(
        script(tmp_path, [{**STEP, "repeat": 8}, {"text": "It is read."}]), StrategySettings()
    )
    given = StrategySettings(budget=f"${3 * PRICE}")

    async def begin(runtime: Runtime) -> None:
        """Log the prompt as a run does that is killed right after it."""
        shop.log = runtime.session.folder
        work = choose_work(runtime, given, "Read")
        assert isinstance(work, BudgetedLoop)
        runtime.session.append(Prompt(text="Read", strategy=dict(work.settings)))

    async def go_on(runtime: Runtime) -> list[End]:
        """The settings of `patchwright resume` name no budget."""
        none = StrategySettings()
        resumed = await runtime.run_turn(None, choose_work(runtime, none, None))
        assert choose_work(runtime, none, "Read on") is None
        return [resumed, await runtime.run_turn("Read on")]

    play_session(shop.repo.root, settings, begin)
    resumed, following = play_session(shop.repo.root, settings, go_on, session=shop.log.name)
    assert resumed.outcome == "limit"
    assert resumed.usage.cost == pytest.approx(3 * PRICE)
    assert resumed.summary.endswith("(--budget)")
    assert following.outcome == "done"
    assert following.usage.cost == pytest.approx(5 * PRICE)
    assert len(read_events_of(shop, Prompt)) == 2


def test_a_budget_adds_the_limits_that_are_lower_and_a_turn_ends_them() -> None:
    own: list[Limit] = [MaxTime(60.0), MaxCost(2.0), MaxTokens(1_000)]
    purse = Purse(own)
    purse.begin_turn()
    purse.limit_turn(parse_budget("1, 10m, 500 tokens"))
    assert purse.turn_limits == [*own, MaxCost(1.0, "--budget"), MaxTokens(500, "--budget")]
    purse.begin_turn()
    assert purse.turn_limits == own
