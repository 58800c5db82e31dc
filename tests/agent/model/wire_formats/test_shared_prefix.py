"""The prefix that a server caches holds from folder to folder, in the order in which templates render a request."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.context.system_prompt import build_system_prompt, read_shared_prompt
from agent.model.model_factory import ModelConfig, create_model
from agent.model.protocol import Request, ToolSpec, UserMessage
from tests.agent.context.test_tokens import openai
from tools.builtin_tools import load_default_tools

SHARED = 0.95
"""Share of the tokens of a first request that a server need not read again in another folder."""


def sent(tmp_path: Path, name: str, *, text_calls: bool = False) -> dict[str, Any]:
    """Return the first request of a session in a folder of this name, as it goes to a server of one's own."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "AGENTS.md").write_text(f"# {name}\n")
    system = build_system_prompt(
        folder, folder, mode="workspace", sandbox="bubblewrap", branch=name, commits=True
    )
    tools = [
        ToolSpec(name=each.name, description=each.description, parameters=each.parameters)
        for each in load_default_tools()
    ]
    request = Request(
        system=system,
        messages=[UserMessage(text="mend it")],
        tools=tools,
        shared=len(read_shared_prompt(commits=True)),
    )
    config = ModelConfig(api_base="http://127.0.0.1:1/v1", env=os.environ, cache=tmp_path)
    model: Any = create_model("openai/mine", config)
    if text_calls:
        request = model._translate_request(request)
    return dict(json.loads(model.inner._wire.body(request)))


def render(body: dict[str, Any]) -> str:
    """Render a request as the templates of Qwen, Hermes and others do: the tools after the system message."""
    first, *rest = body["messages"]
    tools = "\n".join(map(json.dumps, body.get("tools", ())))
    shown = [f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in rest]
    return f"<|im_start|>system\n{first['content']}\n\n# Tools\n{tools}<|im_end|>\n{''.join(shown)}"


@pytest.mark.parametrize("text_calls", [False, True], ids=["tools", "text calls"])
def test_two_folders_share_all_but_what_is_said_of_them(
    text_calls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (render(sent(tmp_path, name, text_calls=text_calls)) for name in ("shop", "till"))
    common = one[: next(at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)]
    assert common.endswith(f"Workspace: {tmp_path}/")
    count = openai(monkeypatch)
    assert count(common) >= SHARED * count(one)


def test_the_rest_of_the_system_prompt_stands_before_the_prompt(tmp_path: Path) -> None:
    messages = sent(tmp_path, "shop")["messages"]
    assert [each["role"] for each in messages] == ["system", "user"]
    assert "shop" not in messages[0]["content"]
    assert messages[1]["content"].startswith("Workspace: ")
    assert "<project-instructions" in messages[1]["content"]
    assert messages[1]["content"].endswith("\n\nmend it")
