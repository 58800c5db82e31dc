"""Chat-completions JSON: encoding of messages and tools."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.model.protocol import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from agent.model.wire_formats.kept_parts import (
    Kept,
    Part,
    order_parts,
)
from agent.model.wire_formats.wire_protocol import Json

_NO_REASONING = " "
"""Placeholder for reasoning that was not kept: endpoints that require the field refuse an empty one."""


FORM = "openai-chat"
"""Mark of message parts that only this format understands."""


def message_to_json(
    message: Message, *, reasoning: bool, kept: Sequence[Kept] = (), nulls: bool = True
) -> Json:
    """Return one message as JSON.

    reasoning: the endpoint requires the assistant's own reasoning; kept: parts of the message that came from it
    nulls: it accepts no content beside calls
    """
    match message:
        case UserMessage():
            return {
                "role": "user",
                "content": _build_image_content(message) if message.images else message.text,
            }
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call, "content": message.text}
        case AssistantMessage():
            # Some servers refuse "" together with tool calls, others null without them.
            content = message.text or (None if message.actions and nulls else "")
            encoded: Json = {"role": "assistant", "content": content}
            if reasoning:
                encoded["reasoning_content"] = message.reasoning or _NO_REASONING
            parts = list(order_parts(message, kept))
            if any(part.kind == "other" or (part.kind == "text" and part.extra) for part in parts):
                encoded["content"] = [_part_to_json(part) for part in parts if part.kind != "call"]
            if message.actions:
                encoded["tool_calls"] = [_call_to_json(part) for part in parts if part.action is not None]
            for part in kept:
                encoded = (part["extra"] if part["kind"] == "message" else {}) | encoded
            return encoded


def tool_to_json(tool: ToolSpec) -> Json:
    """Return one tool as JSON."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _build_image_content(message: UserMessage) -> list[Json]:
    images = [{"type": "image_url", "image_url": {"url": image.url}} for image in message.images]
    return [{"type": "text", "text": message.text}, *images]


def _part_to_json(part: Part) -> Json:
    return dict(part.block) if part.kind == "other" else {"type": "text", "text": part.text, **part.extra}


def _call_to_json(part: Part) -> Json:
    # From the parsed arguments, not from `raw`: a reloaded log must encode to the same bytes, and invalid
    # JSON makes some servers fail on every later request.
    assert part.action is not None
    arguments = json.dumps(part.action.arguments, ensure_ascii=False)
    return {
        "id": part.action.id,
        "type": "function",
        "function": {"name": part.action.tool, "arguments": arguments, **part.fields},
        **part.extra,
    }
