"""Checks of a request before the protocol sees it: its origin, its token, and a whole body of bounded size."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4 << 20
"""Size of a request's body; a patch has at most half of it."""

BODY_SECONDS = 30.0
"""Time in which a body has to arrive."""


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
            await refusal(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(_read_body(receive), BODY_SECONDS)
        except TimeoutError:
            await _refuse(408, "the body did not arrive in time")(scope, receive, send)
            return
        if body is None:
            await _refuse(413, f"the body is larger than {MOST_BYTES} bytes")(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = _collect_headers(scope)
        if headers is None:
            return _refuse(400, "a header appears twice")
        if headers.get(b"host", b"").decode("latin-1").lower() not in self._hosts:
            return _refuse(421, "this server answers at 127.0.0.1 and localhost only")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() not in self._origins:
            return _refuse(403, "web pages may not call this server")
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._authorization):
            return _refuse(401, "the token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return _refuse(413, f"the body is larger than {MOST_BYTES} bytes")
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


def _refuse(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    more = {"Connection": "close", **(headers or {})}
    return PlainTextResponse(f"{reason}\n", status_code=status, headers=more)
