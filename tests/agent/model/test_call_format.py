"""The form of calls that a model gets right is found, enforced where the server can, and remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.model.call_format import FormatChoice
from agent.model.model_factory import ModelConfig, create_model
from agent.model.protocol import AssistantMessage, Message, Reply, Request, TextDelta, ToolSpec, UserMessage
from agent.model.servers.server_facts import ServerFacts, ServerMemory
from tests.support.loopback import Loopback, Trouble
from tools.core.action import Action

TOOLS = (
    ToolSpec(
        name="read",
        description="Read a file.",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ),
)
BAD = {"calls": [{"tool": "read", "raw": '{"path": "a.py'}]}
GOOD = '{"name": "read", "arguments": {"path": "a.py"}}'


def ask(
    tmp_path: Path,
    turns: Sequence[Mapping[str, Any]],
    *,
    program: str,
    troubles: Sequence[Trouble | None] = (),
) -> tuple[list[Reply], Loopback, list[str], ServerFacts | None]:
    """Send as many requests as there are turns; return replies, the server, notices, and what is remembered."""
    notices: list[str] = []
    with Loopback(turns, troubles=troubles) as server:
        memory = ServerMemory(tmp_path)
        memory.remember(
            server.url, "tiny", ServerFacts(program=program, window=32_768, window_source="/props")
        )

        async def run() -> list[Reply]:
            config = ModelConfig(api_base=server.url, env={}, cache=tmp_path, on_notice=notices.append)
            model = create_model("openai/tiny", config)
            if hasattr(model, "prepare"):
                await model.prepare()
            replies: list[Reply] = []
            messages: list[Message] = [UserMessage(text="Look at a.py.")]
            for _ in turns:
                shown = ""
                async for delta in model.stream(Request(system="S", messages=messages, tools=TOOLS)):
                    if isinstance(delta, Reply):
                        replies.append(delta)
                    elif isinstance(delta, TextDelta):
                        shown += delta.text
                assert replies[-1].text == shown, "what is shown is what is logged"
                messages += [AssistantMessage(text=shown or "…"), UserMessage(text="Go on.")]
            await model.close()
            return replies

        replies = asyncio.run(run())
        return replies, server, notices, memory.find(server.url, "tiny")


@pytest.mark.parametrize("program", ["llama.cpp", ""])
def test_after_two_calls_that_cannot_be_read_another_form_is_used_and_remembered(
    program: str, tmp_path: Path
) -> None:
    good = {"text": GOOD if program else f"<tool_call>\n{GOOD}\n</tool_call>"}
    replies, server, notices, facts = ask(tmp_path, [BAD, BAD, good, good], program=program)
    assert [bool(each.actions and not each.actions[0].problem) for each in replies] == [
        False,
        False,
        True,
        True,
    ]
    assert replies[-1].actions[0].arguments == {"path": "a.py"}
    bodies = [each.body for each in server.requests]
    assert ["tools" in each for each in bodies] == [True, True, False, False]
    assert ["response_format" in each for each in bodies] == [False, False, bool(program), bool(program)]
    assert len(notices) == 1
    assert facts is not None
    assert facts.format == ("json" if program else "text")


def test_the_schema_names_the_tools_and_the_answer(tmp_path: Path) -> None:
    answer = {"text": json.dumps({"name": "answer", "arguments": {"text": "Done."}})}
    replies, server, _, _ = ask(tmp_path, [BAD, BAD, answer], program="llama.cpp")
    assert (replies[-1].text, replies[-1].actions) == ("Done.", ())
    form = server.requests[-1].body["response_format"]
    assert form["type"] == "json_schema"
    names = [each["properties"]["name"]["const"] for each in form["json_schema"]["schema"]["anyOf"]]
    assert names == ["read", "answer"]


def test_a_server_that_refuses_the_schema_is_asked_without_it(tmp_path: Path) -> None:
    refusal = Trouble(status=400, body='{"error":{"message":"response_format is not supported"}}')
    replies, server, _, _ = ask(
        tmp_path, [BAD, BAD, {"text": GOOD}], program="llama.cpp", troubles=[None, None, refusal]
    )
    assert replies[-1].actions[0].tool == "read"
    assert ["response_format" in each.body for each in server.requests[2:]] == [True, False]


def test_a_model_that_gets_no_form_right_keeps_the_last() -> None:
    choice = FormatChoice("tools")
    choice.takes_schema = True
    bad = Reply(text="", actions=(Action(id="1", tool="read", arguments={}, problem="cut"),))
    found = [choice.judge(bad, {"read"}) for _ in range(8)]
    assert found == [None, "json", None, "text", None, None, None, None]
    assert choice.current == "text"


def test_one_bad_call_is_an_accident() -> None:
    choice = FormatChoice("tools")
    bad = Reply(text="", actions=(Action(id="1", tool="read", arguments={}, problem="cut"),))
    good = Reply(text="", actions=(Action(id="1", tool="read", arguments={"path": "a.py"}),))
    assert [choice.judge(each, {"read"}) for each in (bad, good, bad, good)] == [None] * 4
