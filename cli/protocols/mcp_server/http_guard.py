"""Checks of a request before the protocol sees it: its origin, its token, and a whole body of bounded size."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.lazy_dataclass import dataclass

MOST_BYTES = 4 << 20
"""Size of a request's body; a patch has at most half of it."""

BODY_SECONDS = 30.0
"""Time in which a body has to arrive."""

DRAIN_SECONDS, DRAIN_BYTES = 5.0, 128 << 20
"""How much is read of the body of a refused request: a client that still sends would not see the answer else."""


class HttpGuard:
    """Refuses requests of other origins, without the token, or with a body that is too large or does not arrive."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._authorization = f"Bearer {token}".encode("ascii")
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._origins = frozenset(f"http://{each}" for each in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        if (refusal := self._find_refusal(scope)) is not None:
            await refusal.send(receive, send)
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(receive)
        except TimeoutError:
            await _Refusal(408, "the body did not arrive in time").send(receive, send)
            return
        if body is None:
            await _Refusal(413, _TOO_LARGE).send(receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    def _find_refusal(self, scope: Scope) -> _Refusal | None:
        headers = _collect_headers(scope)
        if headers is None:
            return _Refusal(400, "a header appears twice")
        if headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            return _Refusal(421, "this server answers at 127.0.0.1 and localhost only")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self._origins:
            return _Refusal(403, "web pages may not call this server")
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._authorization):
            return _Refusal(401, "the token is missing or wrong")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return _Refusal(413, _TOO_LARGE)
        return None


_SINGLE = (b"host", b"origin", b"authorization", b"content-length")
"""Headers of which a second one would be read by nobody, or by somebody else."""


def _collect_headers(scope: Scope) -> Mapping[bytes, bytes] | None:
    """Return the headers by their names, None if one that matters appears twice."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in _SINGLE:
            return None
        found[name] = value
    return found


async def _read_body(receive: Receive) -> list[Message] | None:
    """Return the messages of a request's body, None if it is too large."""
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return messages


def _replay(messages: list[Message], receive: Receive) -> Receive:
    """Return the messages again, then those that follow."""
    left = iter(messages)

    async def read() -> Message:
        for message in left:
            return message
        return await receive()

    return read


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: int
    reason: str

    async def send(self, receive: Receive, send: Send) -> None:
        """Answer at once, read what the client still sends, and close the connection."""
        body = f"{self.reason}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await _drain_body(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain_body(receive: Receive) -> None:
    size = 0
    while size <= DRAIN_BYTES:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


_TOO_LARGE = f"the body is larger than {MOST_BYTES} bytes"
