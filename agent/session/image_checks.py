"""Check of an image file before it is sent: a damaged or huge one is refused by providers, with the whole request."""

from __future__ import annotations

import struct
import zlib

MOST_PIXELS = 8_000
"""Pixels of a side: the limit of Anthropic, the lowest of the large providers."""


_PNG = b"\x89PNG\r\n\x1a\n"


def find_image_fault(content: bytes) -> str:
    """Return what is wrong with a PNG, JPEG, GIF or WebP, as a clause; "" if nothing is, or for another format."""
    try:
        if content.startswith(_PNG):
            return _find_png_fault(content)
        if content.startswith(b"\xff\xd8\xff"):
            return "" if content.rstrip(b"\0").rfind(b"\xff\xd9") > 0 else "its end is missing"
        if content.startswith(b"GIF8"):
            return _check_size(*struct.unpack("<HH", content[6:10])) or (
                "" if content.rstrip(b"\0").endswith(b";") else "its end is missing"
            )
        if content[:4] == b"RIFF":
            return "" if len(content) >= struct.unpack("<I", content[4:8])[0] + 8 else "its end is missing"
    except struct.error:
        return "its end is missing"
    return ""


def _find_png_fault(content: bytes) -> str:
    """Walk the chunks: each has a length, a name, data and a checksum."""
    if fault := _check_size(*struct.unpack(">II", content[16:24])):
        return fault
    at = 8
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        name = content[at + 4 : at + 8]
        end = at + 8 + size
        (checksum,) = struct.unpack(">I", content[end : end + 4])
        if zlib.crc32(content[at + 4 : end]) != checksum:
            return "a part of it is damaged"
        if name == b"IEND":
            return ""
        at = end + 4
    return "its end is missing"


def drop_damaged_extras(content: bytes) -> bytes:
    """Return a PNG without the chunks that do not matter to its picture and whose checksums are wrong.

    Programs that strip metadata leave such behind. Another format, or one that ends early, is returned as it is.
    """
    if not content.startswith(_PNG):
        return content
    kept, at = [_PNG], len(_PNG)
    while at + 12 <= len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        end = at + 12 + size
        if end > len(content):
            return content
        (checksum,) = struct.unpack(">I", content[end - 4 : end])
        is_extra = bool(content[at + 4] & 0x20)  # a small letter: ancillary
        if not is_extra or zlib.crc32(content[at + 4 : end - 4]) == checksum:
            kept.append(content[at:end])
        at = end
    return b"".join(kept)


def _check_size(width: int, height: int) -> str:
    if max(width, height) <= MOST_PIXELS and min(width, height) > 0:
        return ""
    return f"it has {width:,} × {height:,} pixels; providers take up to {MOST_PIXELS:,} a side"
