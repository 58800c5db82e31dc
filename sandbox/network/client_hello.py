"""Parse the first messages of a TLS connection: the server that a client asks for, and whether it must ask again.

The layout is that of RFC 8446, sections 5.1 (records), 4.1.2 (ClientHello) and 4.1.3 (ServerHello), of RFC
6066, section 3 (server_name), and of RFC 9849, section 5 (encrypted_client_hello). Nothing is decrypted: these
messages are in the clear.
"""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.lazy_dataclass import dataclass

MOST = 64 << 10
"""Bytes of a first message: clients send up to 2 KiB, with post-quantum keys 4."""

_CHANGE_CIPHER_SPEC, _ALERT, _HANDSHAKE, _APPLICATION_DATA = 20, 21, 22, 23
_WARNING = 1
_CLIENT_HELLO, _SERVER_HELLO = 1, 2
_SERVER_NAME, _ENCRYPTED_CLIENT_HELLO = 0, 0xFE0D
_HOST_NAME = 0
_RECORD_HEAD = 5
_LONGEST_RECORD = 1 << 14
_MOST_RECORDS = 1024
"""Records of a client's message: clients that split theirs make a handful. All are parsed again as more
bytes arrive."""

_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random value of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3)."""


class NotTls(ValueError):
    """These are not the first bytes of a TLS client, or they are ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHello:
    """name: the requested server, in lower case, "" if none is named; hides: another may be requested,
    encrypted; size: bytes of the records that contained it"""

    name: str
    hides: bool
    size: int


def is_tls(data: bytes) -> bool:
    """Return whether a first byte is that of a handshake record."""
    return data[:1] == bytes([_HANDSHAKE])


def parse_client_hello(data: bytes) -> ClientHello | None:
    """Return the ClientHello that these bytes begin with; None while more are needed. Raises NotTls."""
    found = _parse_handshake(data, _CLIENT_HELLO)
    if found is None:
        return None
    message, size = found
    extensions = list(_parse_extensions(message))
    names = [name for kind, body in extensions if kind == _SERVER_NAME for name in _parse_server_names(body)]
    if len(names) > 1:
        raise NotTls("more than one server name")
    hides = any(kind == _ENCRYPTED_CLIENT_HELLO for kind, _ in extensions)
    return ClientHello(name=names[0] if names else "", hides=hides, size=size)


def is_retry_request(data: bytes) -> bool | None:
    """Return whether a server that begins with these bytes requests a second ClientHello; None while more
    are needed."""
    start = _find_server_hello_offset(data)
    if start is None:
        return None
    try:
        found = _parse_handshake(data[start:], _SERVER_HELLO)
    except NotTls:  # an alert that ends it, or another protocol: no ClientHello is read after it
        return False
    return None if found is None else found[0][2:34] == _RETRY


def find_second_hello_offset(data: bytes) -> int | None:
    """Return the bytes of records that may precede a second ClientHello: for old middle boxes, and early data.

    None while more bytes are needed to decide.
    """
    at = 0
    while data[at : at + 1] in (bytes([_CHANGE_CIPHER_SPEC]), bytes([_APPLICATION_DATA])):
        head = data[at : at + _RECORD_HEAD]
        at += _RECORD_HEAD + int.from_bytes(head[3:5], "big")
        if len(head) < _RECORD_HEAD or at > len(data):
            return None
    return at if data[at:] else None


def _find_server_hello_offset(data: bytes) -> int | None:
    """Return the offset of the ServerHello: a warning about an unknown name may precede it (RFC 6066, section 3)."""
    at = 0
    while data[at : at + 1] == bytes([_ALERT]):
        alert = data[at : at + _RECORD_HEAD + 2]
        if len(alert) < _RECORD_HEAD + 2:
            return None
        if alert[3:6] != bytes([0, 2, _WARNING]):
            break
        at += len(alert)
    return at


def _parse_handshake(data: bytes, kind: int) -> tuple[bytes, int] | None:
    """Return the body of a first message, reassembled from its records, and the bytes of these."""
    whole, at, records = bytearray(), 0, 0
    while True:
        if len(whole) >= 4:
            if whole[0] != kind:
                raise NotTls("the first message is no greeting")
            length = 4 + int.from_bytes(whole[1:4], "big")
            if length > MOST:
                raise NotTls("too long a greeting")
            if len(whole) > length and kind == _CLIENT_HELLO:
                raise NotTls("something follows the greeting in its record")
            if len(whole) >= length:
                return bytes(whole[4:length]), at
        head = data[at : at + _RECORD_HEAD]
        if head and (head[0] != _HANDSHAKE or head[1:2] not in (b"", b"\x03")):
            raise NotTls("no TLS handshake")
        if len(head) < _RECORD_HEAD:
            return None
        size = int.from_bytes(head[3:5], "big")
        if not 0 < size <= _LONGEST_RECORD:
            raise NotTls("a record of no length that there is")
        start, at = at + _RECORD_HEAD, at + _RECORD_HEAD + size
        if at > len(data):
            return None
        whole += data[start:at]
        records += 1
        if records > _MOST_RECORDS and kind == _CLIENT_HELLO:
            raise NotTls("a greeting in too many pieces")


def _parse_extensions(message: bytes) -> Iterator[tuple[int, bytes]]:
    rest = _skip_vector(message[2 + 32 :], 1)  # version, random; then the session id
    rest = _skip_vector(_skip_vector(rest, 2), 1)  # cipher suites, compression methods
    if not rest:  # a client of TLS 1.0 may send none
        return
    body, rest = _read_vector(rest, 2)
    if rest:
        raise NotTls("something follows the extensions")
    while body:
        kind = int.from_bytes(body[:2], "big")
        content, body = _read_vector(body[2:], 2)
        yield kind, content


def _parse_server_names(content: bytes) -> Iterator[str]:
    entries, rest = _read_vector(content, 2)
    if rest or not entries:
        raise NotTls("a list of server names that is none")
    while entries:
        kind = entries[0]
        name, entries = _read_vector(entries[1:], 2)
        if kind != _HOST_NAME:
            raise NotTls("a server name of an unknown kind")
        try:
            yield name.decode("ascii").lower()
        except UnicodeDecodeError:
            raise NotTls("a server name that is no text") from None


def _skip_vector(data: bytes, prefix: int) -> bytes:
    return _read_vector(data, prefix)[1]


def _read_vector(data: bytes, prefix: int) -> tuple[bytes, bytes]:
    """Return a field prefixed by its length in so many bytes, and the rest."""
    length = int.from_bytes(data[:prefix], "big")
    if len(data) < prefix + length:
        raise NotTls("a field that is longer than the message")
    return data[prefix : prefix + length], data[prefix + length :]
