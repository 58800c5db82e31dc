"""One task, one server, four ways to it: the same actions with the same arguments, and the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.events import ActionEvent, End, MessageEvent, ObservationEvent
from agent.model.protocol import Model
from tests.support.bench import bench
from tests.support.cli import call
from tests.support.formats import KINDS, model
from tests.support.loopback import Loopback
from tools.builtin_tools import load_default_tools

TASK = [
    {"text": "I make it.", "calls": [call("write", path="a.py", content="x = 1\ny = 'ü'\n")]},
    {"reasoning": "now change", "calls": [call("edit", path="a.py", old="x = 1", new='x = "2"')]},
    {"calls": [call("read", path="a.py"), call("search", pattern="x =")]},
    {"calls": [call("finish", summary="made it")]},
]


def actions(folder: Path, make: Callable[[Loopback], Model]) -> list[object]:
    """What a model that is behind the server asks for, what comes back, and how it ends."""
    folder.mkdir()
    with Loopback(TASK) as server:
        it = bench(folder, [], load_default_tools(("replace", "whole")), snapshots=False)
        it.runtime.loop.model = it.runtime.model = make(server)

        async def whole() -> End:
            end = await it.runtime.run_turn("go")
            await it.runtime.close()  # in the same event loop: litellm's connections belong to it
            return end

        end = asyncio.run(whole())
    asked = [
        (action.tool, action.arguments, event.text)
        for event in it.events
        if isinstance(event, MessageEvent)
        for action in event.actions
    ]
    ran = sorted((event.tool, event.effect) for event in it.events if isinstance(event, ActionEvent))
    seen = sorted((e.tool, e.failed, e.text) for e in it.events if isinstance(e, ObservationEvent))
    content = (it.runtime.workspace.root / "a.py").read_text()
    return [asked, ran, seen, end.outcome, end.summary, content]


@pytest.mark.slow
def test_the_formats_give_the_same_actions(tmp_path: Path) -> None:
    first, *others = [
        actions(tmp_path / kind, lambda server, kind=kind: model(kind, server))  # type: ignore[misc]
        for kind in KINDS
    ]
    assert others == [first] * len(others)
    assert first[-1] == "x = \"2\"\ny = 'ü'\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"])
def test_litellm_gives_the_same_actions(name: str, tmp_path: Path) -> None:
    from agent.model.litellm_backend import LiteLLMModel

    def through(server: Loopback) -> Model:
        base = server.url if name.startswith("openai") else server.url.removesuffix("/v1")
        return LiteLLMModel(f"litellm/{name}", name, base, "sk-secret")

    direct = actions(tmp_path / "direct", lambda server: model("chat", server))
    assert actions(tmp_path / "litellm", through) == direct
