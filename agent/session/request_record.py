"""Record of a request in the log, sufficient to rebuild the same request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from agent.events import Event, Rewind
from agent.model.protocol import Request, ToolSpec
from agent.model.wire_formats.chat_messages import message_to_json, tool_to_json
from agent.model.wire_formats.wire_protocol import encode_json, encode_message

FORM = "openai-chat"
"""Format in which requests are compared: most models are sent it anyway, so it costs no extra serialization."""


class RequestRecorder:
    """Recorder of a session's requests for their `MessageEvent`s. The tools are recorded when they change."""

    def __init__(self) -> None:
        self._tools: Sequence[ToolSpec] | None = None

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log; a rewind may drop the request that recorded the tools."""
        if isinstance(event, Rewind):
            self._tools = None

    def describe_request(
        self, request: Request, *, left: str, running: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the record of a request.

        Its keys: `digest` of system prompt, tools and messages; `left`, `running`, `max_output` and `tools`
        if any.
        left, running: the request's text on limits and processes, which depends on the clock
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
    """Return SHA-256 of system prompt, tools and messages, eight bytes of each in hexadecimal, joined by dots."""
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
    """Return the tools of a record; None if they have not changed."""
    if "tools" not in record:
        return None
    return tuple(
        ToolSpec(name=each["name"], description=each["description"], parameters=each["parameters"])
        for each in record["tools"]
    )
