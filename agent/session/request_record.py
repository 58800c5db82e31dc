"""Record of a request in the log, sufficient to rebuild the same request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any

from agent.events import Event, Rewind
from agent.model.protocol import Message, Request, ToolSpec
from agent.model.wire_formats.chat_messages import message_to_json, tool_to_json
from agent.model.wire_formats.wire_protocol import (
    EncodedPrefix,
    encode_json,
    encode_message,
    find_last_permanent_message,
)

FORM = "openai-chat"
"""Format in which requests are compared: most models are sent it anyway, so it costs no extra serialization."""


class RequestRecorder:
    """Recorder of a session's requests for their `MessageEvent`s. The tools are recorded when they change."""

    def __init__(self) -> None:
        self._tools: Sequence[ToolSpec] | None = None
        self._digest = RequestDigest()

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
        record: dict[str, Any] = {"digest": self._digest.compute(request)}
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
    return RequestDigest().compute(request)


class RequestDigest:
    """Digests of a session's requests. Each continues the last one, so that its cost does not grow with the session."""

    def __init__(self) -> None:
        import hashlib

        self._new_hash = hashlib.sha256
        self._fixed = EncodedPrefix(self._digest_json, self._digest_tools)
        self._seen: list[Message] = []
        self._hash = self._new_hash()

    def compute(self, request: Request) -> str:
        """See `digest_request`."""
        messages = request.messages
        if len(self._seen) > len(messages) or not all(
            map(is_, self._seen, messages)
        ):  # rewound, or compacted
            self._seen, self._hash = [], self._new_hash()
        permanent = find_last_permanent_message(messages) + 1
        for message in messages[len(self._seen) : permanent]:
            self._seen.append(message)
            self._hash.update(_encode_record(message))
        whole = self._hash.copy()
        for message in messages[len(self._seen) :]:
            whole.update(_encode_record(message))
        fixed = self._fixed.encode_prefix(request)
        return b".".join((fixed.system, fixed.tools, whole.hexdigest()[:_DIGITS].encode())).decode()

    def _digest_json(self, value: object) -> bytes:
        return self._new_hash(encode_json(value)).hexdigest()[:_DIGITS].encode()

    def _digest_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        return self._digest_json([tool_to_json(tool) for tool in tools])


_DIGITS = 16


def _encode_record(message: Message) -> bytes:
    return encode_message(message, FORM, partial(message_to_json, message, reasoning=False)) + b"\0"


def parse_recorded_tools(record: Mapping[str, Any]) -> tuple[ToolSpec, ...] | None:
    """Return the tools of a record; None if they have not changed."""
    if "tools" not in record:
        return None
    return tuple(
        ToolSpec(name=each["name"], description=each["description"], parameters=each["parameters"])
        for each in record["tools"]
    )
