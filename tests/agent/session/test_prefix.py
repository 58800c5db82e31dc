"""Providers' caches: each request begins with the bytes of the one before, but for announced compactions."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent.budget.limits import MaxTokens
from agent.events import Compaction, MessageEvent, Prompt
from agent.model.protocol import UserMessage
from agent.session.log import read_events
from agent.session.request_replay import replay_steps
from tests.support.bench import bench
from tests.support.cli import call
from tests.support.formats import KINDS, model
from tests.support.loopback import Loopback
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


@tool("read")
async def look(name: str, *, at: Workspace) -> Observation:
    """Look at something long."""
    return Observation(text=f"saw {name} ü\n" * 400)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_each_request_begins_with_the_bytes_of_the_one_before(kind: str, tmp_path: Path) -> None:
    turns: list[dict[str, Any]] = [
        {
            "reasoning": "hm",
            "text": f"step {number}",
            "calls": [call("look", name=f"{number}-{each}") for each in "ab"],
        }
        for number in range(14)
    ]
    turns[6:6] = [{"text": "half of it is done"}]
    it = bench(tmp_path, [], [look], limits=[MaxTokens(1_000_000_000)])
    with Loopback([*turns, {"text": "done"}]) as server:
        it.runtime.loop.model = it.runtime.model = model(kind, server)
        it.turn("go")
        it.turn("go on")
        asyncio.run(it.runtime.close())
        bodies = [request.raw for request in server.requests]
    calls = list(replay_steps(read_events(it.runtime.session.folder)))
    assert len(bodies) == len(calls) == 16
    broken = [event for event in it.events if isinstance(event, Compaction)]
    assert broken, "the past was compressed on the way"
    events = list(it.events)
    places = [place for place, event in enumerate(events) if isinstance(event, MessageEvent)]
    kept = 0
    for number, (before, after) in enumerate(pairwise(bodies)):
        between = events[places[number] : places[number + 1]]
        if any(isinstance(event, Compaction) for event in between):
            continue
        end = before.removesuffix(b"]}")
        last = calls[number].request.messages[-1]
        if (
            isinstance(last, UserMessage) and last.passing
        ):  # what is left of the limits stands behind the rest
            end = end[: end.rindex(b',{"role":"user"')]
        end = end.replace(MARK, b"")
        assert after.replace(MARK, b"").startswith(end), f"request {number + 2}"
        kept += 1
    assert kept >= 8
    assert sum(isinstance(event, Prompt) for event in events) == 2


MARK = b',"cache_control":{"type":"ephemeral"}'
"""Where Anthropic is to cache moves along; what is cached does not depend on it."""
