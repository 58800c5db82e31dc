"""Our side of the frames between host and kernel: four bytes of length, then JSON."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

MOST = 16 << 20
"""Bytes of one frame. The kernel refuses to send a longer one; who sends it all the same is up to something."""

Frame = Mapping[str, Any]


class BadFrame(Exception):
    """The kernel does not keep to the protocol; its text says how."""


def encode_frame(frame: Frame) -> bytes:
    """A frame's bytes. Raises ValueError if it is too long."""
    data = json.dumps(frame, separators=(",", ":")).encode("utf-8", "replace")
    if len(data) > MOST:
        raise ValueError(f"{len(data)} bytes are too many for one message (at most {MOST})")
    return len(data).to_bytes(4, "big") + data


async def read_frame(reader: asyncio.StreamReader) -> Frame | None:
    """The next frame, None at the end of the stream. Raises BadFrame."""
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
    """A field that should hold text."""
    return value if isinstance(value, str) else ""


def as_text_list(value: object) -> list[str]:
    """A field that should hold a list of texts."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def decode_base64(data: str) -> bytes:
    """Base64; b"" for what is none."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""
