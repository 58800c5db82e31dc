"""The name of the server that a TLS client asks for, read from the first bytes that it sends.

The layout is that of RFC 8446, sections 5.1 (records) and 4.1.2 (ClientHello), and of RFC 6066, section 3
(server_name). Nothing is decrypted: the first message of a connection is in the clear.
"""

from __future__ import annotations

from collections.abc import Iterator

MOST = 64 << 10
"""Bytes of a first message: clients send up to 2 KiB, with keys that resist quantum computers 4."""

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0
_RECORD_HEAD = 5
_LONGEST_RECORD = 1 << 14


class NotTls(ValueError):
    """These are not the first bytes of a TLS client, or they could be read in two ways."""


def is_tls(data: bytes) -> bool:
    """Whether a first byte is that of a handshake's record."""
    return data[:1] == bytes([_HANDSHAKE])


def server_name(data: bytes) -> str | None:
    """The name in lower case, "" if the client names none; None while more bytes are needed. Raises NotTls."""
    message = _message(data)
    if message is None:
        return None
    names = [name for kind, body in _extensions(message) if kind == _SERVER_NAME for name in _names(body)]
    if len(names) > 1:
        raise NotTls("more than one server name")
    return names[0] if names else ""


def _message(data: bytes) -> bytes | None:
    """The body of the ClientHello, put together from as many records as it came in."""
    whole, at = bytearray(), 0
    while True:
        if len(whole) >= 4:
            if whole[0] != _CLIENT_HELLO:
                raise NotTls("the first message is no ClientHello")
            length = int.from_bytes(whole[1:4], "big")
            if length > MOST:
                raise NotTls("too long a ClientHello")
            if len(whole) >= 4 + length:
                return bytes(whole[4 : 4 + length])
        head = data[at : at + _RECORD_HEAD]
        if head and (head[0] != _HANDSHAKE or head[1:2] not in (b"", b"\x03")):
            raise NotTls("no TLS handshake")
        if len(head) < _RECORD_HEAD:
            return None
        size = int.from_bytes(head[3:5], "big")
        if not 0 < size <= _LONGEST_RECORD:
            raise NotTls("a record of no length that there is")
        whole += data[at + _RECORD_HEAD : at + _RECORD_HEAD + size]
        at += _RECORD_HEAD + size


def _extensions(message: bytes) -> Iterator[tuple[int, bytes]]:
    rest = _skip(message[2 + 32 :], 1)  # version, random; then the session's id
    rest = _skip(_skip(rest, 2), 1)  # cipher suites, compression methods
    if not rest:  # a client of TLS 1.0 may send none
        return
    body, rest = _vector(rest, 2)
    if rest:
        raise NotTls("something follows the extensions")
    while body:
        kind = int.from_bytes(body[:2], "big")
        content, body = _vector(body[2:], 2)
        yield kind, content


def _names(content: bytes) -> Iterator[str]:
    entries, rest = _vector(content, 2)
    if rest or not entries:
        raise NotTls("a list of server names that is none")
    while entries:
        kind = entries[0]
        name, entries = _vector(entries[1:], 2)
        if kind != _HOST_NAME:
            raise NotTls("a server name of an unknown kind")
        try:
            yield name.decode("ascii").lower()
        except UnicodeDecodeError:
            raise NotTls("a server name that is no text") from None


def _skip(data: bytes, prefix: int) -> bytes:
    return _vector(data, prefix)[1]


def _vector(data: bytes, prefix: int) -> tuple[bytes, bytes]:
    """A field that begins with its length in so many bytes, and what follows it."""
    length = int.from_bytes(data[:prefix], "big")
    if len(data) < prefix + length:
        raise NotTls("a field that is longer than the message")
    return data[prefix : prefix + length], data[prefix + length :]
