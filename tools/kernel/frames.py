"""Host side of the frames between host and kernel: four bytes of length, then JSON."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

MOST = 16 << 20
"""Bytes of one frame. The kernel refuses to send a longer one, so a longer one is hostile."""

Frame = Mapping[str, Any]


class BadFrame(Exception):
    """The kernel violates the protocol; the text says how."""


def encode_frame(frame: Frame) -> bytes:
    """Return a frame's bytes. Raises ValueError if it is too long."""
    data = json.dumps(frame, separators=(",", ":")).encode("utf-8", "replace")
    if len(data) > MOST:
        raise ValueError(f"{len(data)} bytes are too many for one message (at most {MOST})")
    return len(data).to_bytes(4, "big") + data


async def read_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Return the next frame, None at the end of the stream. Raises BadFrame."""
    try:
        size = int.from_bytes(await reader.readexactly(4), "big")
        if size > MOST:
            raise BadFrame(f"it sent a message of {size} bytes")
        frame = json.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except (ValueError, RecursionError):
        raise BadFrame("it sent a message that is none") from None
    if not isinstance(frame, dict):
        raise BadFrame("it sent a message that is none")
    return frame


def as_text(value: object) -> str:
    """Return a field that should hold text; "" if it does not."""
    return value if isinstance(value, str) else ""


def as_text_list(value: object) -> list[str]:
    """Return the texts of a field that should hold a list of texts."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def decode_base64(data: str) -> bytes:
    """Decode base64; b"" if it is invalid."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""
