"""Costs are foreseen, limits on them are never passed, and the model is told what is left."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent.budget.cost_budget import MARGIN, CostBudget, describe_remaining_limits
from agent.budget.limits import Limit, MaxCost, MaxSteps, MaxTime, MaxTokens, Tally
from agent.budget.purse import Purse
from agent.events import End, MessageEvent, UsageRecord
from agent.model.protocol import Request
from agent.model.providers.model_catalog import Listing, Price
from tests.support.bench import Bench, bench
from tests.support.cli import call, run
from tests.support.formats import KINDS, chat_at, model
from tests.support.loopback import Loopback
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace

LISTING = Listing(window=100_000, prices=(Price(0, 1e-5, 5e-5, 1e-6),))


@tool("read")
async def look(name: str, *, at: Workspace) -> Observation:
    """Look at something long."""
    return Observation(text=f"saw {name} " * 400)


def turn(folder: Path, server: Loopback, kind: str, limits: list[Limit], **options: Any) -> tuple[Bench, End]:
    it = bench(folder, [], [look], limits=limits)
    it.runtime.loop.model = it.runtime.model = model(kind, server, listing=lambda: LISTING, **options)
    end = it.turn("go")
    asyncio.run(it.runtime.close())
    return it, end


def steps(count: int, usage: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"calls": [call("look", name=str(number))], "usage": usage} for number in range(count)]


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_call_that_would_pass_the_limit_is_not_made(kind: str, tmp_path: Path) -> None:
    with Loopback(steps(9, {"input": 1000, "output": 100})) as server:
        it, end = turn(tmp_path, server, kind, [MaxCost(0.05)])
    assert end.outcome == "limit"
    assert end.usage.cost is not None
    assert 0 < end.usage.cost <= 0.05
    assert "the next call would cost about" in end.summary
    assert len(server.requests) == len([e for e in it.events if isinstance(e, MessageEvent)]) >= 2


def test_not_even_a_first_call_is_made_that_costs_too_much(tmp_path: Path) -> None:
    with Loopback(steps(9, {"input": 1000, "output": 100})) as server:
        _, end = turn(tmp_path, server, "chat", [MaxCost(0.001)])
        assert server.requests == []
    assert end.outcome == "limit"


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_answer_is_bounded_by_what_is_left(kind: str, tmp_path: Path) -> None:
    with Loopback([{"text": "done", "usage": {"input": 100, "output": 5}}]) as server:
        turn(tmp_path, server, kind, [MaxCost(0.10)])
        body = server.requests[0].body
    most = body.get("max_tokens") or body.get("max_output_tokens")
    assert most is not None
    assert 1000 < most <= 0.10 / 5e-5
    with Loopback() as server:
        (tmp_path / "free").mkdir()
        turn(tmp_path / "free", server, kind, [MaxSteps(5)])
        assert server.requests[0].body.get("max_tokens") in (None, 32_000)


def test_no_answer_is_left_unbounded_when_little_is_left() -> None:
    limits: list[Limit] = [MaxCost(0.05)]
    entry = 1000 * MARGIN * 1e-5
    made = 0
    with Loopback() as server:
        priced = model("chat", server, listing=lambda: LISTING)
        purse = Purse(limits)
        budget = CostBudget(purse, lambda: priced, lambda: 1000)
        for cents in range(500):
            spent = cents / 10_000
            purse.tally = Tally(usage=UsageRecord(cost=spent), last_usage=UsageRecord(input=1000, output=5))
            budget.forecast_next_call()
            if purse.find_stop_reason():
                continue
            made += 1
            most = budget.limit_output(Request(system="", messages=[])).max_output
            assert most is not None
            assert spent + entry + most * 5e-5 <= 0.05 + 1e-9
    assert made > 100


def test_without_a_price_the_dearest_call_so_far_is_the_forecast(tmp_path: Path) -> None:
    with Loopback(steps(9, {"input": 10, "output": 1, "cost": 0.01})) as server:
        it = bench(tmp_path, [], [look], limits=[MaxCost(0.025)])
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        end = it.turn("go")
        asyncio.run(it.runtime.close())
        assert len(server.requests) == 2
    assert (end.outcome, end.usage.cost) == ("limit", 0.02)


def test_after_a_call_of_unknown_cost_nothing_more_is_asked(tmp_path: Path) -> None:
    first = steps(1, {"input": 10, "output": 1, "cost": 0.01})
    with Loopback([*first, *steps(9, {"input": 10, "output": 1})]) as server:
        it = bench(tmp_path, [], [look], limits=[MaxCost(1.0)])
        it.runtime.loop.model = it.runtime.model = model("chat", server)
        end = it.turn("go")
        asyncio.run(it.runtime.close())
        assert len(server.requests) == 2
    assert end.outcome == "limit"
    assert "the cost of what" in end.summary


def test_the_model_is_told_what_is_left_at_the_end_of_the_request(tmp_path: Path) -> None:
    with Loopback([*steps(3, {"input": 1000, "output": 100}), {"text": "done"}]) as server:
        turn(tmp_path, server, "chat", [MaxCost(1.0), MaxSteps(6), MaxTokens(50_000), MaxTime(3600)])
        lasts = [request.body["messages"][-1]["content"] for request in server.requests]
        bodies = [request.raw.partition(b'"messages":')[2] for request in server.requests]
    assert lasts[0].endswith("left: $1.00 of $1.00, 50000 of 50000 tokens")
    assert lasts[1].endswith("left: $0.98 of $1.00, 48900 of 50000 tokens")
    assert lasts[3].endswith("left: $0.95 of $1.00, 3 of 6 steps, 46700 of 50000 tokens")
    for before, after in pairwise(bodies):
        told = before.rindex(b',{"role":"user"')
        assert after.startswith(before[:told]), "what is left stands behind all that stays"


def test_a_small_model_is_not_told_what_is_left(tmp_path: Path) -> None:
    """It answers with those words: they are the last ones that it reads."""
    with Loopback([*steps(3, {"input": 100, "output": 10}), {"text": "done"}]) as server:
        it = bench(tmp_path, [], [look], limits=[MaxSteps(6), MaxTokens(50_000)])
        it.runtime.loop.model = it.runtime.model = chat_at(server.url, "coder-1.5b", listing=lambda: LISTING)
        it.turn("go")
        asyncio.run(it.runtime.close())
        assert len(server.requests) == 4
        assert not [each for each in server.requests if b"left: " in each.raw]


def test_nothing_is_said_of_limits_that_are_far_off() -> None:
    assert describe_remaining_limits([MaxSteps(200), MaxTime(3600)], Tally(steps=3)) == ""
    assert describe_remaining_limits([MaxSteps(200)], Tally(steps=150)) == "50 of 200 steps"


@pytest.mark.slow
def test_prices_of_the_settings_go_before_the_catalogue(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "settings.toml").write_text(
        '[models.catalog."openai/mine"]\nwindow = 5000\ninput = 2.0\noutput = 10.0\n'
    )
    with Loopback([{"text": "ok", "usage": {"input": 1000, "output": 100}}]) as server:
        done = run(
            "run", "hi", "--no-commit", "--output", "json", "--model", "openai/mine", "--api-base", server.url,
            cwd=project, env={"PATCHWRIGHT_HOME": str(home)},
        )  # fmt: skip
    assert done.code == 0, done.err
    assert done.events[0]["usage"]["cost"] == pytest.approx(0.003)
