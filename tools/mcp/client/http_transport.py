"""A server behind an address ("streamable HTTP" of the protocol): the SDK's transport on a bounded connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import httpx2
from mcp.client._transport import ReadStream, WriteStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from patchwright.version import VERSION
from sandbox.network.tls_context import create_tls_context
from tools.mcp.client.message_bounds import MOST_BYTES_OF_MESSAGE, BadMessage, MessageBounds
from tools.mcp.server_settings import LOOPBACK

CONNECT_SECONDS = 15.0
ACKNOWLEDGE_SECONDS = 15.0
"""Time for the answer to a notification, which has no content: later messages wait for it."""

COST_OF_RESPONSE = 50
"""A response counts as so many messages: one that closes each stream at once would have us ask for ever."""

_OK_STATUS = 400


class BrokenBody(httpx2.StreamError):
    """A response whose body violates a bound."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class HttpTransport:
    """Streams of one server for the SDK.

    status: of the last response that was an error, 0 if there was none
    """

    def __init__(
        self, url: str, headers: dict[str, str], auth: httpx2.Auth | None, bounds: MessageBounds
    ) -> None:
        self._url = url
        self._headers = headers
        self._auth = auth
        self._bounds = bounds
        self._stack = AsyncExitStack()
        self.status = 0

    async def __aenter__(self) -> tuple[BoundedReader, BoundedWriter]:
        """Open the connection; nothing is sent yet."""
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._create_client())
            read, write = await stack.enter_async_context(
                streamable_http_client(
                    self._url, http_client=client, max_sse_event_size=MOST_BYTES_OF_MESSAGE
                )
            )
            self._stack = stack.pop_all()
        return BoundedReader(read, self._bounds), BoundedWriter(write, self._bounds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def note_response(self, response: httpx2.Response) -> None:
        """Note the status of an error, and that a response arrived. Raises BadMessage above the rate."""
        if response.status_code >= _OK_STATUS:
            self.status = response.status_code
        self._bounds.count(messages=COST_OF_RESPONSE, size=0)

    def _create_client(self) -> httpx2.AsyncClient:
        own = {"User-Agent": f"patchwright/{VERSION}", "Accept-Encoding": "identity"}
        return httpx2.AsyncClient(
            transport=BoundedConnection(_open_connection(self._url), self, self._bounds),
            headers={**own, **self._headers},
            auth=self._auth,
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            trust_env=False,
            max_redirects=3,
        )


class BoundedConnection(httpx2.AsyncBaseTransport):
    """Requests of one client with bounds on the bodies of their responses."""

    def __init__(
        self, connection: httpx2.AsyncBaseTransport, transport: HttpTransport, bounds: MessageBounds
    ) -> None:
        self._connection = connection
        self._transport = transport
        self._bounds = bounds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        if not _awaits_an_answer(request):
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": ACKNOWLEDGE_SECONDS}
        response = await self._connection.handle_async_request(request)
        try:
            self._transport.note_response(response)
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise BadMessage("it sent compressed content, which was not asked for")
        except BadMessage as bad:
            self._bounds.fail(str(bad))
            await response.aclose()
            raise httpx2.RemoteProtocolError(str(bad)) from None
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        body = BoundedBody(response.stream, self._bounds, None if is_stream else MOST_BYTES_OF_MESSAGE)
        return httpx2.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=body,
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connection.aclose()


class BoundedBody(httpx2.AsyncByteStream):
    """Body of a response. most: bytes of it; None for a stream of events, each of which is bounded"""

    def __init__(self, body: httpx2.AsyncByteStream, bounds: MessageBounds, most: int | None) -> None:
        self._body = body
        self._bounds = bounds
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if self._most is not None and size > self._most:
                raise BrokenBody(f"it sent a message of more than {self._most >> 20} MiB")
            try:
                self._bounds.count(messages=chunk.count(b"\n"), size=len(chunk))
            except BadMessage as bad:
                self._bounds.fail(str(bad))
                raise BrokenBody(str(bad)) from None
            yield chunk

    async def aclose(self) -> None:
        """Close the body, read or not."""
        await self._body.aclose()


class BoundedReader:
    """Messages of the server as far as they are admitted; they end where it violated a bound."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], bounds: MessageBounds) -> None:
        self._inner = inner
        self._bounds = bounds

    @property
    def last_context(self) -> Any:
        """Context in which the last message was received (see `ReadStream`)."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return await self.__anext__()

    def __aiter__(self) -> BoundedReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item = await self._inner.__anext__()
            if self._bounds.problem:
                raise StopAsyncIteration
            if isinstance(item, Exception):
                return item
            if (message := self._bounds.admit(item)) is not None:
                return message

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> BoundedReader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class BoundedWriter:
    """Messages to the server, noted so that their answers are known."""

    def __init__(self, inner: WriteStream[SessionMessage], bounds: MessageBounds) -> None:
        self._inner = inner
        self._bounds = bounds

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        self._bounds.note_sent(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> BoundedWriter:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _open_connection(url: str) -> httpx2.AsyncHTTPTransport:
    """Return connections with the certificates and the proxy of our own requests."""
    return httpx2.AsyncHTTPTransport(verify=create_tls_context(), proxy=_find_proxy(url), trust_env=False)


def _find_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address."""
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    address = httpx2.URL(url)
    proxies = getproxies_environment()
    if address.host in LOOPBACK or proxy_bypass_environment(address.host, proxies):
        return None
    return proxies.get(address.scheme) or proxies.get("all")


def _awaits_an_answer(request: httpx2.Request) -> bool:
    """Return whether a response takes as long as the server works; a notification is only acknowledged."""
    if request.method == "GET":
        return True
    return request.method == "POST" and b'"method":"notifications/' not in request.content[:200]
