"""litellm itself, against the loopback server. Its import takes seconds, so these are slow."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.model.litellm_backend import LiteLLMModel
from agent.model.model_factory import ModelConfig, create_model, resolve_model
from agent.model.model_settings import RateLimitSettings
from agent.model.protocol import (
    ContextOverflow,
    CutOff,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    Usage,
    compute_price,
)
from agent.model.providers.model_catalog import Listing, Price
from agent.model.text_tools import TextTools
from sandbox.errors import Fault, UserError
from tests.support.asking import READ, answered, ask, deltas, reply, user
from tests.support.formats import OVERFLOW
from tests.support.loopback import Loopback, Trouble

pytestmark = [
    pytest.mark.slow,
    # litellm and what it imports use much that is deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

QUIET: Callable[[str], None] = lambda text: None  # noqa: E731


def through(
    server: Loopback, name: str = "openai/gpt-4o", notice: Callable[[str], None] = QUIET
) -> LiteLLMModel:
    return LiteLLMModel(f"litellm/{name}", name, server.url, "sk-secret", on_notice=notice)


def test_text_reasoning_parallel_calls_and_usage_come_through() -> None:
    calls = [{"tool": "read", "arguments": {"path": path}} for path in ("a.py", "b.py")]
    turn = {"reasoning": "let me see", "text": "I look.", "calls": calls}
    usage = {"input": 1000, "cached": 400, "output": 10}

    async def session(server: Loopback) -> tuple[list[object], Reply]:
        model = through(server)
        request = Request(system="Be brief.", messages=[user("go")], tools=[READ])
        first = await deltas(model, request)
        assert isinstance(first[-1], Reply)
        messages = [user("go"), *answered(first[-1], "A", "B")]
        second = await reply(model, Request(system="Be brief.", messages=messages, tools=[READ]))
        await model.close()
        await model.close()
        return list(first), second

    with Loopback([turn | {"usage": usage}, {"expect": ["A", "B"], "text": "done"}]) as server:
        items, last = asyncio.run(session(server))
        assert server.requests[0].body["messages"][0] == {"role": "system", "content": "Be brief."}
    got = items[-1]
    assert isinstance(got, Reply)
    assert [item.text for item in items if isinstance(item, ReasoningDelta)] == ["let", " me", " see"]
    assert [item.text for item in items if isinstance(item, TextDelta)] == ["I", " look."]
    assert [action.arguments["path"] for action in got.actions] == ["a.py", "b.py"]
    assert (got.usage.input, got.usage.cached, got.usage.output, got.stop) == (1000, 400, 10, "actions")
    assert got.usage.cost is not None
    assert got.usage.cost > 0
    assert (last.text, last.stop) == ("done", "end")


def test_the_window_is_known_once_litellm_is_imported_and_an_unknown_price_is_not_zero() -> None:
    with Loopback([{"text": "ok", "usage": {"input": 5}, "repeat": 2}]) as server:
        known, unknown = through(server, "openai/gpt-4.1"), through(server, "openai/nobody-s-model")
        ask(known, [user("hi")])
        assert ask(unknown, [user("hi")]).usage.cost is None
    assert known.window > 1_000_000
    assert unknown.window == 128_000


def test_the_prefix_litellm_leads_through_it_and_a_server_of_one_s_own_needs_no_key(tmp_path: Path) -> None:
    with Loopback() as server:
        model = resolve_model("litellm/openai/tiny", server.url, {}, tmp_path)
        assert isinstance(model, TextTools)
        assert isinstance(model.inner, LiteLLMModel)
        assert ask(model, [user("hi")]).text == "ok"
        assert server.requests[0].body["model"] == "tiny"


@pytest.mark.parametrize(
    "trouble", [Trouble(status=503), Trouble(refuse=True), Trouble(cut_after=300)], ids=str
)
def test_a_passing_failure_is_tried_again_with_a_notice(trouble: Trouble) -> None:
    notices: list[str] = []
    with Loopback([{"text": "there"}], troubles=[trouble]) as server:
        assert ask(through(server, notice=notices.append), [user("hi")]).text == "there"
        assert len(server.requests) == 2
    assert len(notices) == 1
    assert "openai/gpt-4o" in notices[0]


def test_each_attempt_passes_the_limits_of_its_provider(tmp_path: Path) -> None:
    limits = {"groq": RateLimitSettings(tokens=12_000), "groq/llama": RateLimitSettings(calls=1000)}
    told: list[str] = []
    turn = {"text": "ok", "usage": {"input": 800, "output": 100}, "repeat": 9}
    with Loopback([turn], troubles=[Trouble(status=503)]) as server:
        config = ModelConfig(
            api_base=server.url, env={}, cache=tmp_path, limits=limits, on_notice=told.append
        )
        made = create_model("litellm/groq/llama", config)
        assert isinstance(made, TextTools)
        assert isinstance(made.inner, LiteLLMModel)
        model = through(server, notice=told.append)
        model._gate = made.inner._gate
        for _ in range(2):
            ask(model, [user("hi")])
        times = [each.arrived for each in server.requests]
    assert len(times) == 3
    assert times[2] - times[1] > 1.4
    assert "groq has 12,000 tokens a minute: the next call waits for its turn" in told


def test_the_server_s_wish_to_wait_is_heard() -> None:
    with Loopback(troubles=[Trouble(status=429, retry_after="3600")]) as server:
        with pytest.raises(UserError) as caught:
            ask(through(server), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is Fault.MODEL_UNREACHABLE


def test_an_answer_that_breaks_off_in_the_middle_of_text_is_not_said_twice() -> None:
    with Loopback([{"text": "word " * 200}], troubles=[Trouble(cut_after=4000)]) as server:
        with pytest.raises(UserError, match="in the middle of a reply") as caught:
            ask(through(server), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is Fault.MODEL_UNREACHABLE


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, Fault.CONFIGURATION),
        (401, Fault.CREDENTIALS),
        (403, Fault.CREDENTIALS),
        (404, Fault.CONFIGURATION),
    ],
)
def test_a_lasting_refusal_is_told_at_once_in_one_line(status: int, fault: Fault) -> None:
    body = '{"error":{"message":"no: sk-secret"}}'
    with Loopback(troubles=[Trouble(status=status, body=body)]) as server:
        with pytest.raises(UserError) as caught:
            ask(through(server), [user("hi")])
        assert len(server.requests) == 1
    assert caught.value.fault is fault
    assert caught.value.hint
    assert caught.value.message == "openai/gpt-4o: no: …"


def test_anthropic_s_models_are_told_where_to_cache() -> None:
    with Loopback() as server:
        ask(through(server, "anthropic/claude-sonnet-4-5"), [user("first"), user("second")])
        body = server.requests[0].body
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_litellm_neither_writes_to_the_terminal_nor_reads_the_repository_s_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=planted\nPLANTED=1\n")
    program = """
import asyncio, os, sys
from agent.model.protocol import Request, UserMessage
from agent.model.litellm_backend import LiteLLMModel
from sandbox.errors import UserError

async def main():
    model = LiteLLMModel("x", "openai/gpt-4o", sys.argv[1], "k")
    try:
        async for item in model.stream(Request(system="", messages=[UserMessage(text="hi")])):
            pass
        print(item.text, os.environ.get("PLANTED"))
    finally:
        await model.close()

asyncio.run(main())
"""
    checkout = str(Path(__file__).parents[3])
    with Loopback() as server:
        done = subprocess.run(
            [sys.executable, "-c", program, server.url],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": checkout},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.stdout, done.stderr) == ("ok None\n", "")


def test_too_long_a_request_and_a_cut_stream_are_told_apart_here_too() -> None:
    with (
        Loopback(troubles=[Trouble(status=400, body=OVERFLOW["chat"])]) as server,
        pytest.raises(ContextOverflow),
    ):
        ask(through(server), [user("hi")])
    cut = Loopback([{"text": "word " * 100}], troubles=[Trouble(cut_after=4000)])
    with cut as server, pytest.raises(CutOff):
        ask(through(server), [user("hi")])


def test_what_litellm_knows_no_price_of_is_priced_by_the_settings(tmp_path: Path) -> None:
    listing = Listing(window=0, prices=(Price(0, 1e-5, 5e-5, 1e-6),))
    with Loopback([{"text": "hi", "usage": {"input": 1000, "cached": 400, "output": 10}}]) as server:
        model = LiteLLMModel("x", "openai/mine", server.url, "k", listing=lambda: listing)
        answer = ask(model, [user("go")])
    assert answer.usage.cost == pytest.approx(600e-5 + 400e-6 + 10 * 5e-5)
    named = resolve_model("gemini/gemini-2.5-flash", None, {"GEMINI_API_KEY": "k"}, tmp_path)
    assert (compute_price(named, Usage(input=1000, output=10)) or 0) > 0


def test_a_call_that_a_model_writes_as_text_is_understood(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
    with Loopback([{"text": text}]) as server:
        model = resolve_model("litellm/openai/tiny", server.url, {}, tmp_path)
        answer = asyncio.run(reply(model, Request(system="", messages=[user("go")], tools=[READ])))
    assert [(each.tool, each.arguments) for each in answer.actions] == [("read", {"path": "a.py"})]
