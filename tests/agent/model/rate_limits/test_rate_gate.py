"""Requests to a limited model: each attempt counts, waiting is told, and the server sees no more than the limit."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.model.http.http_model import HttpModel
from agent.model.model_factory import ModelConfig, create_model
from agent.model.model_settings import RateLimitSettings
from agent.model.protocol import Model, Request
from agent.model.text_tools import TextTools
from tests.support.asking import reply, user
from tests.support.loopback import Loopback, Trouble

REQUEST = Request(system="", messages=[user("go")])


def make_model(
    server: Loopback, folder: Path, limits: dict[str, RateLimitSettings], told: list[str], **values: Any
) -> Model:
    name = values.pop("name", "openai/local")
    config = ModelConfig(api_base=server.url, env={}, cache=folder, limits=limits, on_notice=told.append)
    return create_model(name, config)


def find_times(server: Loopback) -> list[float]:
    return [each.arrived for each in server.requests]


def fits(times: Sequence[float], burst: int, rate: float) -> bool:
    """Whether no interval has more calls than a burst and what it adds."""
    return all(
        count <= burst + (times[last] - times[first]) * rate + 0.1
        for first in range(len(times))
        for last in range(first, len(times))
        for count in [last - first + 1]
    )


@pytest.mark.slow
def test_every_attempt_of_every_model_passes_the_limit(tmp_path: Path) -> None:
    told: list[str] = []
    limits = {"openai": RateLimitSettings(calls=120)}  # a burst of 6, then 1.9 a second
    troubles = [Trouble(status=503, retry_after="0"), None, Trouble(status=429, retry_after="0")]

    async def run(server: Loopback) -> None:
        models = [make_model(server, tmp_path, limits, told) for _ in range(4)]
        await asyncio.gather(*(reply(model, REQUEST) for model in models * 2))
        for model in models:
            await model.close()

    with Loopback(troubles=troubles) as server:
        asyncio.run(run(server))
        times = find_times(server)
    assert len(times) == 10
    assert fits(times, 6, 115 / 60)
    assert times[-1] - times[0] > 1.5
    waits = [each for each in told if "trying again" not in each]
    assert waits
    assert set(waits) == {"openai has 120 calls a minute: the next call waits for its turn"}


@pytest.mark.slow
def test_tokens_that_a_reply_used_are_paid_by_the_next_call(tmp_path: Path) -> None:
    told: list[str] = []
    limits = {"openai/local": RateLimitSettings(tokens=12_000)}  # 200 a second, 600 at once

    async def run(server: Loopback) -> None:
        model = make_model(server, tmp_path, limits, told)
        for _ in range(2):
            await reply(model, REQUEST)
        await model.close()

    with Loopback([{"text": "ok", "usage": {"input": 800, "output": 100}, "repeat": 9}]) as server:
        asyncio.run(run(server))
        times = find_times(server)
    assert 1.4 < times[1] - times[0] < 5
    assert told == ["openai/local has 12,000 tokens a minute: the next call waits for its turn"]


def test_a_wait_is_cancelled_at_once_and_other_models_do_not_wait(tmp_path: Path) -> None:
    limits = {"openai/local": RateLimitSettings(calls=1)}

    async def run(server: Loopback) -> None:
        model = make_model(server, tmp_path, limits, [])
        other = make_model(server, tmp_path, limits, [], name="openai/other")
        await reply(model, REQUEST)
        await reply(other, REQUEST)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await reply(model, REQUEST)
        await model.close()
        await other.close()

    with Loopback() as server:
        asyncio.run(run(server))
        assert len(server.requests) == 2


def test_without_a_limit_nothing_is_imported_or_opened(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agent.model.model_factory import resolve_model;"
        f"resolve_model('openai/x', 'http://127.0.0.1:1/v1', {{}}, Path({str(tmp_path / 'cache')!r}));"
        "print([name for name in sys.modules if 'rate_limits' in name])"
    )
    checkout = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", program], cwd=checkout, capture_output=True, check=True)
    assert done.stdout.split() == [b"[]"]
    assert not (tmp_path / "cache").exists()
    with Loopback() as server:
        limits = {"anthropic": RateLimitSettings(calls=1)}
        model = make_model(server, tmp_path / "cache", limits, [])
        assert isinstance(model, TextTools)
        assert isinstance(model.inner, HttpModel)
        assert model.inner._gate is None
    assert not (tmp_path / "cache").exists()
