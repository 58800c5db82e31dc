"""Bounds of what a server may send, whatever carries it: rate, answers to our own requests only, trimmed lists."""

from __future__ import annotations

import time
from dataclasses import field

from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.redaction import redact
from tools.mcp.descriptions import LISTINGS, trim_listing

MOST_BYTES_OF_MESSAGE = 16 << 20
"""Bytes of one message: enough for a picture; a server that sends a longer one is broken."""

MOST_OTHER_LINES, MOST_OTHER_BYTES = 200, 64 << 10
"""Lines, and their bytes, between two messages that are none: banners and debug output, which many servers print."""

TASK_KEY = "patchwright/task"
"""Key under which the handle of a task (2025-11-25) stands in the metadata of an empty result."""

WINDOW_SECONDS = 10.0
MOST_MESSAGES, MOST_BYTES = 10_000, 128 << 20
"""Messages and bytes within a window: parsing more would leave no time for anything else in the session."""


USED_NOTIFICATIONS = frozenset(
    f"notifications/{each}"
    for each in (
        "cancelled",
        "progress",
        "subscriptions/acknowledged",
        "tools/list_changed",
        "prompts/list_changed",
        "resources/list_changed",
    )
)
"""Others, such as log messages, would cost a task each and be thrown away."""


class BadMessage(Exception):
    """A violation of the protocol or of its bounds by the server; the text says how, in a clause."""


@dataclass(slots=True)
class MessageBounds:
    """Bounds of one connection.

    problem: first reason for which the connection ends; "" while there is none
    other_line: the first line that was skipped since it is no message; "" while there is none
    """

    problem: str = ""
    other_line: str = ""
    _other_lines: int = 0
    _other_bytes: int = 0
    _asked: dict[RequestId, str] = field(default_factory=dict)
    _window: float = field(default_factory=time.monotonic)
    _messages: int = 0
    _bytes: int = 0

    def fail(self, problem: str) -> None:
        """Note why the connection ends, unless an earlier reason is known."""
        self.problem = self.problem or problem

    def count(self, *, messages: int, size: int) -> None:
        """Count what arrived. Raises BadMessage above the rate."""
        now = time.monotonic()
        if now - self._window > WINDOW_SECONDS:
            self._window, self._messages, self._bytes = now, 0, 0
        self._messages += messages
        self._bytes += size
        if self._messages > MOST_MESSAGES:
            raise BadMessage(f"it sent {self._messages:,} lines within {WINDOW_SECONDS:g} s")
        if self._bytes > MOST_BYTES:
            raise BadMessage(f"it sent {self._bytes >> 20} MiB within {WINDOW_SECONDS:g} s")

    def skip_line(self, line: bytes) -> None:
        """Count a line that is no message. Raises BadMessage if there are too many in a row."""
        self._other_lines += 1
        self._other_bytes += len(line)
        if self._other_lines > MOST_OTHER_LINES or self._other_bytes > MOST_OTHER_BYTES:
            raise BadMessage("it wrote something else than messages to its standard output")
        self.other_line = self.other_line or redact(line[:200].decode("utf-8", "replace")).strip()

    def note_message(self) -> None:
        """Note a line that is a message: other ones in a row are counted anew."""
        self._other_lines = self._other_bytes = 0

    def note_sent(self, message: SessionMessage) -> None:
        """Note a message to the server, so that its answer is known as one."""
        match message.message:
            case JSONRPCRequest(id=number, method=method):
                self._asked[number] = method
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": number}):
                self._asked.pop(number, None)

    def is_awaited(self, number: object) -> bool:
        """Return whether an id is that of a request without an answer, also by its type."""
        return type(number) in (int, str) and number in self._asked

    def admit(self, message: SessionMessage) -> SessionMessage | None:
        """Return a message from the server with trimmed lists; None for one that nobody waits for."""
        match message.message:
            case JSONRPCResponse(id=number, result=result) as answer:
                if not self.is_awaited(number):
                    return None
                method = self._asked.pop(number)
                result.setdefault("resultType", "complete")  # of the latest revision, which has it so
                if method == "tools/call" and isinstance(task := result.get("task"), dict):
                    answer.result = result = {
                        "content": [],
                        "_meta": {TASK_KEY: task},
                    }  # else it is no result
                if method == "tools/call" and "structuredContent" in result:
                    result.setdefault("content", [])  # as servers do that have nothing else to say
                if method in LISTINGS:
                    listing = trim_listing(method, result)
                    if listing is None:
                        return make_refusal(number, f"no list of {LISTINGS[method][0]}")
                    answer.result = listing
            case JSONRPCError(id=number):
                if number is None or not self.is_awaited(number):
                    return None
                del self._asked[number]
            case JSONRPCNotification(method=method) if method not in USED_NOTIFICATIONS:
                return None
        return message


def make_refusal(number: RequestId, reason: str) -> SessionMessage:
    """Return an answer that fails a request, for one that the server answered with something else."""
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=INTERNAL_ERROR, message=reason))
    )
