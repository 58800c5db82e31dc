"""Bodies that a server or a proxy compresses though none was asked for: decoded in bounded pieces, or an error.

A damaged body is none: its checksum and its end count, as far as its format has them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"

_PLAIN = (b"data:", b"event:", b"id:", b":", b"{")
"""How a reply begins: a proxy may have decoded it and left the header."""

_KNOWN = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""Window bits of zlib by the encoding's name."""


class DamagedBody(Exception):
    """A body is not what its header says; the message says how."""


class BodyDecoder:
    """Decoder of one body. encoding: of the header `Content-Encoding`, in lower case"""

    def __init__(self, encoding: str, most: int) -> None:
        if encoding not in _KNOWN:
            raise DamagedBody(f"it answers in the encoding {encoding[:40]!r}, which was not asked for")
        self._encoding = encoding
        self._most = most
        self._bits = _KNOWN[encoding]
        self._stream = zlib.decompressobj(self._bits)
        self._has_begun = self._is_plain = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes of a piece, at most `most` at a time. Raises DamagedBody."""
        if not self._has_begun and piece:
            self._has_begun = True
            self._is_plain = piece.lstrip().startswith(_PLAIN)
            if (
                self._encoding == "deflate" and piece[0] & 0x0F != zlib.DEFLATED
            ):  # as some servers understand it
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        if self._is_plain:
            yield from (piece[start : start + self._most] for start in range(0, len(piece), self._most))
            return
        while piece:
            if self._stream.eof:  # gzip may have several members, and zeros behind them
                if not piece.strip(b"\0"):
                    return
                if self._bits == zlib.MAX_WBITS or not _MAGIC.startswith(piece[:2]):
                    raise DamagedBody(
                        f"its answer has other bytes behind the end of its {self._encoding} data"
                    )
                self._stream = zlib.decompressobj(self._bits)
            try:
                decoded = self._stream.decompress(piece, self._most)
            except zlib.error:
                raise DamagedBody(
                    f"its answer is damaged: its {self._encoding} data cannot be read"
                ) from None
            if decoded:
                yield decoded
            piece = self._stream.unconsumed_tail or self._stream.unused_data

    def finish(self) -> None:
        """Raise DamagedBody if the data has no end."""
        if self._has_begun and not self._is_plain and not self._stream.eof:
            raise DamagedBody(f"its answer is damaged: its {self._encoding} data has no end")
