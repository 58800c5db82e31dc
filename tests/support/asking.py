"""Ask a model in a test: one request, its deltas, its reply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Message,
    Model,
    Reply,
    Request,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

READ = ToolSpec(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def user(text: str) -> UserMessage:
    return UserMessage(text=text)


def answered(reply: Reply, *texts: str) -> list[Message]:
    """The messages that follow from a reply: itself, and an observation for each of its actions."""
    said = AssistantMessage(
        text=reply.text, actions=reply.actions, reasoning=reply.reasoning, kept=reply.kept
    )
    results = [
        ToolMessage(call=action.id, name=action.tool, text=text)
        for action, text in zip(reply.actions, texts, strict=True)
    ]
    return [said, *results]


async def deltas(model: Model, request: Request) -> list[Delta]:
    return [delta async for delta in model.stream(request)]


async def reply(model: Model, request: Request) -> Reply:
    *_, last = await deltas(model, request)
    assert isinstance(last, Reply)
    return last


def ask(model: Model, messages: Sequence[Message], tools: Sequence[ToolSpec] = (READ,)) -> Reply:
    """The reply to one request, in an event loop of its own; the model is closed."""

    async def asked() -> Reply:
        try:
            return await reply(model, Request(system="Be brief.", messages=messages, tools=tools))
        finally:
            await model.close()

    return asyncio.run(asked())
