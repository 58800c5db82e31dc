"""What the log keeps of a request, so that the very same one can be made from it again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from agent.events import Event, Rewind
from agent.model.protocol import Request, ToolSpec
from agent.model.wire_formats.chat_messages import message_to_json, tool_to_json
from agent.model.wire_formats.wire_protocol import encode_json, encode_message

FORM = "openai-chat"
"""The format in which requests are compared: most models are sent it anyway, so that the bytes are there."""


class RequestRecorder:
    """Describes each request of a session for its `MessageEvent`. The tools are written down when they change."""

    def __init__(self) -> None:
        self._tools: Sequence[ToolSpec] | None = None

    def handle_event(self, event: Event) -> None:
        """Take in the next event of the log: going back may leave the request behind that named the tools."""
        if isinstance(event, Rewind):
            self._tools = None

    def describe_request(
        self, request: Request, *, left: str, running: Collection[str] = ()
    ) -> dict[str, Any]:
        """`digest` of system prompt, tools and messages; with `left`, `running`, `max_output` and `tools` where there
        are any.

        left, running: what the request says of the limits and of processes, which depends on the clock
        """
        record: dict[str, Any] = {"digest": digest_request(request)}
        if left:
            record["left"] = left
        if running:
            record["running"] = list(running)
        if request.max_output:
            record["max_output"] = request.max_output
        if self._tools is None or list(self._tools) != list(request.tools):
            self._tools = request.tools
            record["tools"] = [
                {"name": each.name, "description": each.description, "parameters": dict(each.parameters)}
                for each in request.tools
            ]
        return record


def digest_request(request: Request) -> str:
    """SHA-256 of system prompt, tools and messages, eight bytes of each in hexadecimal, joined by dots."""
    import hashlib

    messages = hashlib.sha256()
    for message in request.messages:
        messages.update(encode_message(message, FORM, partial(message_to_json, message, reasoning=False)))
        messages.update(b"\0")
    parts = (
        hashlib.sha256(encode_json(request.system)),
        hashlib.sha256(encode_json([tool_to_json(tool) for tool in request.tools])),
        messages,
    )
    return ".".join(part.hexdigest()[:16] for part in parts)


def parse_recorded_tools(record: Mapping[str, Any]) -> tuple[ToolSpec, ...] | None:
    """The tools that a record names; None if they have not changed."""
    if "tools" not in record:
        return None
    return tuple(
        ToolSpec(name=each["name"], description=each["description"], parameters=each["parameters"])
        for each in record["tools"]
    )
