"""An MCP server as a process in the sandbox: one line of JSON a message, both ways ("stdio" transport).

Like a language server it may write nothing in the workspace: only our own tools change files, since they
record their changes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from tools.code.lsp.message_framing import BadMessage
from tools.code.lsp.server_process import ServerGone, ServerProcess
from tools.core.surroundings import Surroundings

MOST = 16 << 20
"""Bytes of one message: enough for a picture; a server that sends a longer one is broken."""


class McpProcess(ServerProcess):
    """A running server. Create it with `start`."""

    most_line = MOST
    farewell = False  # its input is closed, without a farewell message

    def __init__(self, at: Surroundings) -> None:
        super().__init__(at, lambda method, parameters: None)

    def cancel(self, number: int) -> None:
        """Notify the server that a request was cancelled."""
        self.notify("notifications/cancelled", {"requestId": number})

    def encode_message(self, content: Mapping[str, Any]) -> bytes:
        """Encode a message as one line."""
        line = json.dumps({"jsonrpc": "2.0", **content}, separators=(",", ":"), ensure_ascii=True)
        return line.encode("ascii") + b"\n"

    async def read_message(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        """Return the next message, None at the end of the stream. Raises BadMessage, ValueError (no end of line)."""
        while line := await reader.readline():
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

    def answer_request(self, method: str, parameters: object) -> dict[str, Any]:
        """Answer a server's request: the workspace is the only root; sampling and elicitation are refused."""
        if method == "ping":
            return {"result": {}}
        if method == "roots/list":
            root = self._at.root
            return {"result": {"roots": [{"uri": root.as_uri(), "name": root.name}]}}
        return {"error": {"code": -32601, "message": f"no method {method}"}}


__all__ = ["McpProcess", "ServerGone"]
