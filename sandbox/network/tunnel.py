"""Filter the start of a tunnel: nothing passes before the client has named the server that it asked for.

One address serves many sites: a name in a ClientHello other than that of the request would lead to one that is
not on the list. A server may ask for a second ClientHello (RFC 8446, section 4.1.4), which has to name the same
server, so data that a client sends after the first waits for the server's answer.
"""

from __future__ import annotations

from asyncio import Event
from enum import Enum, auto

from sandbox.network.client_hello import (
    MOST,
    ClientHello,
    NotTls,
    find_second_hello_offset,
    is_retry_request,
    is_tls,
    parse_client_hello,
)
from sandbox.network.hosts import Target
from sandbox.network.proxy_request import Refused

_ONLY_TLS = (443, 80)
"""Ports on which a tunnel carries only TLS: plain HTTP is requested from the proxy itself, which reads its
Host. On the others it may carry other protocols."""

_MOST_HELD = 2 * MOST
"""Bytes: a ClientHello, and as much again that was read with it."""

_SHOWN = 100  # characters of untrusted text


class _TunnelState(Enum):
    FIRST = auto()
    ANSWER = auto()
    SECOND = auto()
    NOTHING = auto()


class Tunnel:
    """State of a tunnel until the hello messages are over; returns the bytes that may be passed on. It sends
    nothing itself.

    target: the host and port that were requested
    goes_on: set unless the client has to wait for the server's answer
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._waiting = _TunnelState.FIRST
        self._said = b""
        self._answer = b""
        self.goes_on = Event()
        self.goes_on.set()

    @property
    def is_open(self) -> bool:
        """Whether everything that either side sends is passed on from here."""
        return self._waiting is _TunnelState.NOTHING

    def receive_from_client(self, data: bytes) -> bytes:
        """Take bytes of the client; return those that may go to the server now. Raises Refused."""
        self._said += data
        passed = self._handle_first_hello() if self._waiting is _TunnelState.FIRST else b""
        if self._waiting is _TunnelState.SECOND:
            passed += self._handle_second_hello()
        if self.is_open:
            passed, self._said = passed + self._said, b""
        if len(self._said) > _MOST_HELD:
            raise self._build_refusal("no whole TLS greeting")
        return passed

    def receive_from_server(self, data: bytes) -> bytes:
        """Take bytes of the server; return the client's that may go to it now. Raises Refused."""
        if self._waiting is not _TunnelState.ANSWER:
            return b""
        self._answer += data
        again = is_retry_request(self._answer)
        if again is None and len(self._answer) <= MOST:
            return b""
        self._waiting = _TunnelState.SECOND if again else _TunnelState.NOTHING
        self.goes_on.set()
        return self.receive_from_client(b"")

    def close_server_side(self) -> None:
        """Handle the end of the server's stream: the client need not wait for an answer; its held bytes
        are not sent."""
        self.goes_on.set()

    def close_client_side(self) -> None:
        """Handle the end of the client's stream. Raises Refused if that leaves half a ClientHello."""
        if self._waiting in (_TunnelState.FIRST, _TunnelState.SECOND) and self._said:
            raise self._build_refusal("no whole TLS greeting")
        if self._waiting is _TunnelState.FIRST:  # the client only listens
            self._waiting = _TunnelState.NOTHING

    def _handle_first_hello(self) -> bytes:
        if not self._said:
            return b""
        if not is_tls(self._said):
            if self._target.port in _ONLY_TLS:
                raise self._build_refusal("no TLS greeting")
            self._waiting = _TunnelState.NOTHING
            return b""
        hello = self._check_hello(self._said)
        if hello is None:
            return b""
        self._waiting = _TunnelState.ANSWER
        self.goes_on.clear()
        return self._take_bytes(hello.size)

    def _handle_second_hello(self) -> bytes:
        start = find_second_hello_offset(self._said)
        hello = None if start is None else self._check_hello(self._said[start:])
        if start is None or hello is None:
            return b""
        self._waiting = _TunnelState.NOTHING
        return self._take_bytes(start + hello.size)

    def _check_hello(self, data: bytes) -> ClientHello | None:
        try:
            hello = parse_client_hello(data)
        except NotTls as problem:
            raise self._build_refusal(str(problem)) from None
        if hello is None:
            return None
        if hello.hides:
            raise self._build_refusal(
                "its TLS greeting hides the server that it asks for (encrypted client hello)"
            )
        if hello.name.removesuffix(".") != self._target.host:
            asked = repr(hello.name[:_SHOWN]) if hello.name else "no server"
            raise self._build_refusal(f"its TLS greeting asks for {asked}")
        return hello

    def _take_bytes(self, size: int) -> bytes:
        taken, self._said = self._said[:size], self._said[size:]
        return taken

    def _build_refusal(self, reason: str) -> Refused:
        return Refused("403 Forbidden", f"{self._target}: {reason}")
