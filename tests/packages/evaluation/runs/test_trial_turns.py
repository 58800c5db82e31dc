"""Time of the agent in a trial: its own work counts, waiting for a rate limit does not, and a user's end is a limit."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.model.model_settings import ModelSettings, RateLimitSettings
from agent.model.protocol import Request
from agent.model.rate_limits.bucket_store import ProcessBuckets
from agent.model.rate_limits.queue_pause import limit_unqueued_seconds
from agent.model.rate_limits.rate_gate import RateGate
from agent.model.rate_limits.token_bucket import RateLimit
from packages.evaluation.runs import trial_turns
from packages.evaluation.runs.run_plan import make_plan
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.trial_order import MOST_QUEUED, TrialOrder
from packages.evaluation.runs.variant import make_variant
from tests.support.evaluation_trials import make_order, make_task, write_script
from tests.support.loopback import Loopback

LIMITED = ModelSettings(limits={"small": RateLimitSettings(calls=60)})


def fill_buckets(folder: Path, seconds: float) -> None:
    """Let the next call of the model `small` wait for so long."""
    place = folder / "cache" / "rate-limits" / "buckets.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"small": [1 - seconds * 58 / 60, 0.0, time.time()]}))


def order_limited(folder: Path, url: str, seconds: float) -> TrialOrder:
    task = make_task(folder / "suite/add", limits={"seconds": seconds})
    order = make_order(task, "small", folder)
    return replace(order, settings=replace(order.settings, api_base=url, models=LIMITED))


def say_done(request: Request) -> Mapping[str, Any]:
    return {"text": "Done."}


@pytest.mark.slow
def test_time_in_the_queue_of_a_rate_limit_is_not_the_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[float] = []
    with Loopback(say_done) as server:
        order = order_limited(tmp_path, server.url, 3)
        fill_buckets(tmp_path, 4)
        result = asyncio.run(run_trial(order, on_part=parts.append))
        assert (result.failure, result.outcome) == ("no-change", "not-achieved"), result
        assert result.agent_seconds > 3.5
        assert parts[0] == 3
        assert MOST_QUEUED < parts[1] < MOST_QUEUED + 3  # nobody ends the trial amid the wait
        assert 0 < parts[2] < 3
        monkeypatch.setattr(trial_turns, "MOST_QUEUED", 0.3)
        order = order_limited(tmp_path / "b", server.url, 3)
        fill_buckets(tmp_path / "b", 60)
        endless = asyncio.run(run_trial(order))
    assert (endless.failure, endless.is_valid) == ("model-unreachable", False), endless
    assert "under a rate limit" in endless.detail


def test_a_limited_trial_may_last_as_long_as_its_queue(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add")
    seconds = []
    for models in (ModelSettings(), LIMITED):
        settings = replace(make_order(task, "offline", tmp_path).settings, models=models)
        plan = make_plan("s", [task], [make_variant("x", settings)], trials=1, seed=0, version="1")
        folders = make_order(task, "offline", tmp_path).folders
        seconds.append(plan.trials[0].build_order(folders, "1", None).total_seconds)
    assert seconds[1] == seconds[0] + MOST_QUEUED


def test_a_limit_of_seconds_leaves_out_the_queue_and_nothing_else() -> None:
    gate = RateGate([RateLimit(name="x", calls=200)], ProcessBuckets())

    async def make_calls() -> float:
        started = time.monotonic()
        for _ in range(10):  # those of the burst go at once
            await gate.admit(1, lambda text: None)
        await asyncio.gather(*(gate.admit(1, lambda text: None) for _ in range(2)))
        return time.monotonic() - started

    async def sleep_after_a_wait() -> None:
        async with limit_unqueued_seconds(0.05):
            await gate.admit(1, lambda text: None)
            await asyncio.sleep(30)

    async def wait_twice() -> float:
        async with limit_unqueued_seconds(0.25):
            passed = await make_calls()
        with pytest.raises(TimeoutError):
            await sleep_after_a_wait()
        return passed

    assert asyncio.run(wait_twice()) > 0.5


@pytest.mark.slow
def test_a_user_who_comes_too_late_ends_the_trial_at_its_limit(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", user={"persona": "You sell fruit."}, limits={"seconds": 3})
    user = write_script(tmp_path / "user.json", [{"text": "Go on.", "delay": 60}])
    agent = write_script(tmp_path / "agent.json", [{"text": "Well.", "usage": {"input": 5, "cost": 0.5}}])
    result = asyncio.run(run_trial(make_order(task, agent, tmp_path, user_model=user)))
    assert (result.is_valid, result.failure, result.cost) == (True, "limit", 0.5), result
