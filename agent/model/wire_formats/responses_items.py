"""Messages, system prompt and tools as OpenAI's responses endpoint takes them: a list of items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from agent.model.protocol import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from agent.model.wire_formats.kept_parts import Kept, order_parts
from agent.model.wire_formats.wire_protocol import Json, encode_json
from tools.core.action import Action


def build_message_items(message: Message, kept: Sequence[Kept]) -> Iterator[Json]:
    """Yield the items of one message. kept: its parts that came from this endpoint"""
    match message:
        case UserMessage():
            images = [{"type": "input_image", "image_url": image.url} for image in message.images]
            text = {"type": "input_text", "text": message.text}
            yield {"role": "user", "content": [text, *images] if images else message.text}
        case ToolMessage():
            yield {"type": "function_call_output", "call_id": message.call, "output": message.text}
        case AssistantMessage():
            for part in order_parts(message, kept):
                if part.action is not None:
                    yield {**_build_call(part.action), **part.extra}
                elif part.kind == "other":
                    yield dict(part.block)
                elif part.text:
                    content = [{"type": "output_text", "text": part.text}]
                    yield {"role": "assistant", "content": content, **part.extra}


def _build_call(action: Action) -> Json:
    return {
        "type": "function_call",
        "call_id": action.id,
        "name": action.tool,
        "arguments": json.dumps(action.arguments, ensure_ascii=False),
    }


def encode_system(text: str) -> bytes:
    """Return the field of the system prompt, empty for none."""
    return b',"instructions":' + encode_json(text) if text else b""


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """Return the field of the tools, empty for none."""
    if not tools:
        return b""
    return b',"tools":' + encode_json(
        [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in tools
        ]
    )
