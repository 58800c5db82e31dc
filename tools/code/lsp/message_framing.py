"""Framing of protocol messages on a stream: headers, an empty line, and JSON of the stated length."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

MOST = 64 << 20
"""Bytes of one message: a server that sends a longer one is broken."""

MOST_HEADERS = 16
"""Lines before the empty one; the protocol defines two."""


class BadMessage(Exception):
    """A violation of the protocol by the server; the text says how."""


def frame_message(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message."""
    data = json.dumps({"jsonrpc": "2.0", **content}, separators=(",", ":")).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


async def read_framed_message(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message, None at the end of the stream. Raises BadMessage."""
    try:
        size = await _read_length(reader)
        if size is None:
            return None
        message = json.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except (ValueError, RecursionError):
        raise BadMessage("it sent a message that is none") from None
    if not isinstance(message, dict):
        raise BadMessage("it sent a message that is none")
    return message


async def _read_length(reader: asyncio.StreamReader) -> int | None:
    """Return the content length from the headers, None at the end of the stream. Raises BadMessage, ValueError."""
    size = -1
    for _ in range(MOST_HEADERS):
        line = await reader.readline()
        if not line:
            return None
        name, colon, value = line.strip().partition(b":")
        if not name and size >= 0:
            return size
        if colon and name.lower() == b"content-length":
            size = int(value)
            if not 0 <= size <= MOST:
                raise BadMessage(f"it sent a message of {size} bytes")
    raise BadMessage("it sent headers without a length")
