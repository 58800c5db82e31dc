"""How near the estimate of tokens comes to what providers report, on real text and with real tokenizers."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.context.projection.projection import Projection
from agent.context.system_prompt import build_system_prompt
from agent.events import AskedAction, Event, MessageEvent, ObservationEvent, Prompt, SessionStart
from agent.model.protocol import ToolSpec
from agent.model.providers.model_family import find_family
from agent.model.wire_formats.anthropic_messages import AnthropicWire
from agent.model.wire_formats.chat_completions import ChatWire
from tools.builtin_tools import load_default_tools

WITHIN = 0.05
ROOT = Path(__file__).parents[3]


def bundled(name: str) -> Path:
    """A tokenizer's file that litellm brings; nothing is downloaded."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "litellm_core_utils" / "tokenizers" / name


def openai(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    import tiktoken

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(bundled("x").parent))
    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def anthropic(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    from tokenizers import Tokenizer

    monkeypatch.setitem(os.environ, "TOKENIZERS_PARALLELISM", "false")
    tokenizer = Tokenizer.from_file(str(bundled("anthropic_tokenizer.json")))
    return lambda text: len(tokenizer.encode(text).ids)


def session() -> Iterator[tuple[Event, ...]]:
    """A session on this repository's own files: prose, code, JSON, in steps of very different size."""
    yield (
        SessionStart(
            session="s", project="/p", model="m", mode="workspace", version="0", system=read("README.md")
        ),
        Prompt(text="Explain how an edit finds its place, then change the order of the rungs."),
    )
    paths = ["docs/architecture.md", "agent/turn/loop.py", "agent/session/log.py", "tools/core/registry.py",
             "docs/security.md",
             "agent/model/http/http_client.py", "pyproject.toml",
              "tests/agent/turn/test_loop.py", "sandbox/policy/decision.py"]  # fmt: skip
    for number, path in enumerate(paths):
        call = AskedAction(id=f"c{number}", tool="read", arguments={"path": path, "start": number})
        text = f"I look at {path} next, since what stands there decides the order.\n" * (number % 3)
        yield (
            MessageEvent(text=text, actions=[call]),
            ObservationEvent(call=call.id, tool="read", text=read(path)[: 1500 * (1 + number % 4)]),
        )


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [openai, anthropic], ids=["openai", "anthropic"])
def test_after_the_third_call_the_estimate_is_within_five_hundredths(
    tokenizer: Callable[[pytest.MonkeyPatch], Callable[[str], int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = tokenizer(monkeypatch)
    tools = [
        ToolSpec(name=each.name, description=each.description, parameters=each.parameters)
        for each in load_default_tools(("replace", "whole"))
    ]
    projection = Projection(tools)
    wire = ChatWire("m") if tokenizer is openai else AnthropicWire("m")
    errors = []
    for number, events in enumerate(session()):
        for place, event in enumerate(events):
            event.id = f"e{number * 2 + place + 1}"
            projection.add_event(event)
        body = json.loads(wire.body(projection.build_request()))
        # What a provider counts: the texts and a few tokens for each part, not the JSON around them.
        reported = sum(count(text) + 3 for text in texts(body))
        estimated = projection.tokens + projection.fixed_tokens
        errors.append((estimated - reported) / reported)
        projection.calibrate_estimate(reported)
    assert max(map(abs, errors[3:])) < WITHIN, [f"{error:+.1%}" for error in errors]


def texts(value: object) -> Iterator[str]:
    """All that a provider renders for the model: strings, and the keys of schemas."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("type", "role", "cache_control", "model", "stream"):
                yield key
            yield from texts(each)


ELSEWHERE = {"rename", "web_fetch", "web_search"}
"""Tools offered only where the user has set up a language server, or lets the web be reached."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "most"),
    [("openai/mine", 1_700), ("ollama/qwen3", 1_700), ("anthropic/claude-x", 1_700), ("openai/gpt-5", 1_700),
     ("deepseek/x", 1_700)],
)  # fmt: skip
def test_what_stands_before_the_first_message_is_short(
    model: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peers begin at 3,000 to 29,000."""
    system = build_system_prompt(
        tmp_path, tmp_path, mode="workspace", sandbox="bubblewrap", branch="main", commits=True
    )
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in load_default_tools(find_family(model).formats)
        if tool.name not in ELSEWHERE
    ]
    sent = json.dumps([{"type": "function", "function": each} for each in tools], separators=(",", ":"))
    assert openai(monkeypatch)(system + sent) < most - 10, "and room for the names of longer folders"
