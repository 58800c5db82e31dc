"""Profiles: short instructions, few tools and small outputs in a small window, and all of it in a large one."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.context.profile.profiles import PROFILES, choose_profile, is_below_a_billion, select_tools
from agent.events import End, Event
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.model.protocol import ToolSpec
from agent.session.log import read_events
from agent.session.request_replay import replay_steps
from agent.session_request import SessionRequest
from agent.turn.runtime import Runtime
from tests.agent.context.test_tokens import openai
from tests.support.child_sessions import settings_for
from tests.support.loopback import Loopback, Trouble
from tests.support.repo import Repo
from tools.builtin_tools import load_default_tools


@pytest.mark.parametrize(
    ("setting", "window", "model", "expected"),
    [
        ("auto", 128_000, "openai/gpt-5", "generic"),
        ("auto", 32_768, "openai/mine", "generic"),
        ("auto", 16_384, "openai/mine", "small"),
        ("auto", 8_192, "ollama/qwen3", "small"),
        ("auto", 4_096, "ollama/qwen3", "tiny"),
        ("auto", 128_000, "ollama/qwen2.5-coder:1.5b", "small"),
        ("auto", 128_000, "openai/SmolLM2-135M-Instruct", "small"),
        ("auto", 128_000, "ollama/qwen3:32b", "generic"),
        ("generic", 4_096, "ollama/qwen3", "generic"),
        ("small", 128_000, "openai/gpt-5", "small"),
        ("auto", 1_000_000, "offline", "generic"),
        ("auto", 4_096, "scripted:turns.yaml", "generic"),
    ],
)
def test_the_window_the_name_or_the_user_chooses(
    setting: str, window: int, model: str, expected: str
) -> None:
    assert choose_profile(setting, window, model).name == expected


CART = "def total(prices):\n    return sum(prices) + 1\n"
LONG = "".join(f"def unused_{number}():\n    return {number}\n\n\n" for number in range(400))
TESTS = "from cart import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "arguments": arguments}]}


TURNS: Sequence[Mapping[str, Any]] = [
    call("search", pattern="def "),
    call("read", path="cart.py"),
    call("edit", path="cart.py", old="    return sum(prices) + 1", new="    return sum(prices)"),
    call("run_tests"),
    {"text": "total added one too many."},
]


def run(
    tmp_path: Path,
    window: int,
    turns: Sequence[Mapping[str, Any]] = TURNS,
    troubles: Sequence[Trouble | None] = (),
) -> tuple[End, Any, Runtime]:
    """Mend a cart by a model with this window, 0 if not known; return the end, the requests and the session."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART + LONG)
    repo.write("test_cart.py", TESTS)
    repo.write("AGENTS.md", "Use two spaces.\n" * 500)
    repo.commit_all()
    settings = replace(
        settings_for("openai/mine"),
        models=ModelSettings(catalog={"openai/mine": CatalogSettings(window=window)} if window else {}),
        commit="never",
    )

    async def go() -> tuple[End, Runtime]:
        runtime = assemble_runtime(
            settings, SessionRequest(working=repo.root, env={}), Home.from_environment()
        )
        end = await runtime.run_turn("The total is wrong: mend cart.py.")
        await runtime.close()
        return end, runtime

    with Loopback(turns, troubles=troubles) as server:
        settings = replace(settings, api_base=server.url)
        end, runtime = asyncio.run(go())
        return end, list(server.requests), runtime


@pytest.mark.slow
@pytest.mark.parametrize("window", [2_048, 4_096, 8_192])
def test_a_bug_is_mended_in_a_small_window(
    window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = openai(monkeypatch)
    end, requests, runtime = run(tmp_path, window)
    assert (end.outcome, end.files) == ("done", ["cart.py"])
    for each in requests:
        assert count(each.raw.decode()) + each.body["max_tokens"] <= window
    first = requests[0].body
    tools = [each["function"]["name"] for each in first["tools"]]
    assert 4 <= len(tools) <= 6
    fixed = count(first["messages"][0]["content"]) + count(json.dumps(first["tools"], separators=(",", ":")))
    assert fixed <= 700
    assert runtime.projection.profile == ("small" if window > 4_096 else "tiny")


def test_a_window_that_nothing_fits_is_refused_with_both_numbers(tmp_path: Path) -> None:
    end, requests, _ = run(tmp_path, 1_024)
    assert end.outcome == "configuration"
    assert requests == []
    found = re.search(r"at least ([0-9,]+) tokens are needed; the window has 1,024\)", end.summary)
    assert found is not None
    assert 1_024 < int(found[1].replace(",", "")) <= 1_500


@pytest.mark.slow
def test_the_log_rebuilds_the_same_requests(tmp_path: Path) -> None:
    _, _, runtime = run(tmp_path, 2_048)
    events: list[Event] = list(read_events(runtime.session.folder))
    steps = list(replay_steps(events))
    assert len(steps) == len(TURNS)
    assert [each.changed_parts for each in steps] == [[] for _ in TURNS]


def test_a_small_model_is_offered_a_commit_where_the_prompt_speaks_of_one() -> None:
    offered = [
        ToolSpec(name=each.name, description=each.description, parameters=each.parameters)
        for each in load_default_tools()
    ]
    names = [each.name for each in select_tools(PROFILES["tiny"], offered, commits=True)]
    assert sorted(names) == ["edit", "git_commit", "read", "run_tests", "search"]
    assert "git_commit" not in [each.name for each in select_tools(PROFILES["small"], offered)]


def test_an_agent_keeps_the_tool_that_ends_its_task() -> None:
    told = {"properties": {"path": {}, "pattern": {}, "start": {}, "end": {}}}
    offered = [ToolSpec(name=name, description="", parameters=told) for name in ("read", "search", "report")]
    assert [each.name for each in select_tools(PROFILES["tiny"], offered)] == ["read", "search", "report"]
    alone = [ToolSpec(name="vote", description="", parameters={})]
    assert select_tools(PROFILES["tiny"], alone) == alone


@pytest.mark.slow
def test_a_window_that_only_a_refusal_tells_is_fitted_at_once(tmp_path: Path) -> None:
    refusal = (
        '{"error":{"message":"This model\'s maximum context length is 2048 tokens. However, your messages resulted in'
        ' 2300 tokens.","code":"context_length_exceeded"}}'
    )
    end, requests, runtime = run(tmp_path, 0, troubles=[Trouble(status=400, body=refusal)])
    assert (end.outcome, end.files) == ("done", ["cart.py"])
    assert [len(each.body["tools"]) > 6 for each in requests[:2]] == [True, False]
    assert runtime.projection.profile == "tiny"


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("openai/smollm2-135m", True),
        ("ollama/qwen3:0.6b", True),
        ("ollama/qwen2.5-coder:0.5b-instruct", True),
        ("ollama/qwen3:1.7b", False),
        ("ollama/llama3.2:1b", False),
        ("vllm/qwen-10.5b", False),
        ("openai/gpt-5.5", False),
        ("anthropic/claude-sonnet-5", False),
    ],
)
def test_models_below_a_billion_are_known_by_their_names(name: str, *, below: bool) -> None:
    assert is_below_a_billion(name) is below
