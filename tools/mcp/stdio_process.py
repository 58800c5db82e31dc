"""An MCP server as a process in the sandbox: one line of JSON a message, both ways ("stdio" transport).

Like a language server it may write nothing in the workspace: only our own tools change files, since they
record their changes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from tools.code.lsp.message_framing import BadMessage
from tools.code.lsp.server_process import ServerGone, ServerProcess
from tools.core.surroundings import Surroundings

MOST = 16 << 20
"""Bytes of one message: enough for a picture; a server that sends a longer one is broken."""

WINDOW_SECONDS = 10.0
MOST_LINES, MOST_BYTES = 20_000, 128 << 20
"""Lines and bytes within a window: parsing more would leave no time for anything else in the session."""


class McpProcess(ServerProcess):
    """A running server. Create it with `start`."""

    most_line = MOST
    farewell = False  # its input is closed, without a farewell message

    def __init__(self, at: Surroundings) -> None:
        super().__init__(at, lambda method, parameters: None)
        self._window, self._lines, self._bytes = time.monotonic(), 0, 0

    def cancel(self, number: int) -> None:
        """Notify the server that a request was cancelled."""
        self.notify("notifications/cancelled", {"requestId": number})

    def encode_message(self, content: Mapping[str, Any]) -> bytes:
        """Encode a message as one line."""
        line = json.dumps({"jsonrpc": "2.0", **content}, separators=(",", ":"), ensure_ascii=True)
        return line.encode("ascii") + b"\n"

    async def read_message(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        """Return the next message, None at the end of the stream. Raises BadMessage."""
        while line := await _read_line(reader):
            self._limit_rate(len(line))
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                raise BadMessage("it wrote something else than messages to its standard output") from None
            if not isinstance(message, dict):
                raise BadMessage("it sent a message that is none")
            return message
        return None

    def _limit_rate(self, size: int) -> None:
        now = time.monotonic()
        if now - self._window > WINDOW_SECONDS:
            self._window, self._lines, self._bytes = now, 0, 0
        self._lines += 1
        self._bytes += size
        if self._lines > MOST_LINES or self._bytes > MOST_BYTES:
            raise BadMessage(f"it sent {self._lines:,} lines within {WINDOW_SECONDS:g} s")

    def answer_request(self, method: str, parameters: object) -> dict[str, Any]:
        """Answer a server's request: the workspace is the only root; sampling and elicitation are refused."""
        if method == "ping":
            return {"result": {}}
        if method == "roots/list":
            root = self._at.root
            return {"result": {"roots": [{"uri": root.as_uri(), "name": root.name}]}}
        return {"error": {"code": -32601, "message": f"no method {method}"}}


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # no end within the limit
        raise BadMessage(f"it sent a line of more than {MOST >> 20} MiB") from None


__all__ = ["McpProcess", "ServerGone"]
