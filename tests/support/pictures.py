"""Real pictures for tests."""

from __future__ import annotations

import struct
import zlib


def make_png(shade: int = 0, *, width: int = 2, height: int = 2) -> bytes:
    """Return a grey PNG; another shade is another picture."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * width) * height)
    parts = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
