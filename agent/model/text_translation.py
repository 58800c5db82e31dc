"""Translation of a request for a model without tools: calls, results and the tools themselves as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.model.protocol import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from agent.model.wire_formats.wire_protocol import encode_json
from tools.core.action import Action
from tools.core.untrusted_output import enclose_in_tag


class TextTranslation:
    """Messages translated for a model without tools; each is translated once, so that its bytes are stable."""

    def __init__(self) -> None:
        self._groups: list[tuple[tuple[Message, ...], Message]] = []

    def translate_messages(self, messages: Sequence[Message]) -> list[Message]:
        """Return calls and results as text; all between two replies is one message, as many templates require."""
        place = 0
        for group in _group_messages(messages):
            known = self._groups[place] if place < len(self._groups) else None
            same = known is not None and len(known[0]) == len(group)
            if known is None or not (same and all(a is b for a, b in zip(known[0], group, strict=True))):
                del self._groups[place:]
                self._groups.append((group, _translate_group(group)))
            place += 1
        del self._groups[place:]
        return [message for _, message in self._groups]


def _group_messages(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    group: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            if group:
                yield tuple(group)
                group = []
            yield (message,)
        else:
            group.append(message)
    if group:
        yield tuple(group)


def _translate_group(group: tuple[Message, ...]) -> Message:
    first = group[0]
    if isinstance(first, AssistantMessage):
        calls = [_format_call(action) for action in first.actions]
        text = "\n".join([first.text, *calls] if first.text else calls)
        return AssistantMessage(text=text, reasoning=first.reasoning, kept=first.kept)
    parts: list[str] = []
    for message in group:
        if isinstance(message, ToolMessage):
            failed = ' failed="true"' if message.failed else ""
            about = f' name="{message.name}"{failed}' if message.name.isidentifier() else failed
            parts.append(enclose_in_tag("tool_response", message.text, about))
        else:
            parts.append(message.text)
    images = tuple(image for each in group if isinstance(each, UserMessage) for image in each.images)
    return UserMessage(text="\n\n".join(parts), images=images)


def _format_call(action: Action) -> str:
    call = {"name": action.tool, "arguments": dict(action.arguments)}
    return f"<tool_call>\n{encode_json(call).decode()}\n</tool_call>"


def build_tool_prompt(tools: Sequence[ToolSpec]) -> str:
    """Return the description of tools for a model that is not told of them otherwise."""
    path = Path(__file__).parent.parent / "prompts" / "text_tools.md"
    text = re.sub(r"<!--.*?-->\n?", "", path.read_text("utf-8"), flags=re.DOTALL).strip()
    lines = [
        encode_json(
            {"name": each.name, "description": each.description, "parameters": each.parameters}
        ).decode()
        for each in tools
    ]
    return "\n".join([text, *lines])
