"""A small HTTP/1.1 client for streamed answers: `http.client`, one kept-alive connection in its own thread.

The thread reads every answer to its end, so that the connection can be used again; whoever loses
interest abandons the answer, which shuts the socket down at once and wakes the thread. Connections
belong to no event loop.
"""

from __future__ import annotations

import asyncio
import http.client
import queue
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from agent.model.http.http_route import Route, resolve_route
from sandbox.errors import UserError

CONNECT_TIMEOUT = 10.0
"""Seconds to reach a server: a far one takes one, a dead one would take minutes."""

IDLE_TIMEOUT = 300.0
"""Seconds without a byte: models that think before they speak can be silent for minutes."""

_REUSE = 60.0
"""Seconds after which a quiet connection is not trusted: routers forget it without telling anyone."""

_MOMENT, _MOMENTS = 0.002, 25
"""Seconds and times to wait for an answer's last bytes, which mostly come with the ones before: less
than a new connection costs."""

_MAX_ANSWER = 256 << 20
"""Bytes of one answer. Servers put 200 to 300 around each token: this is ten times the longest output of any model."""

_AHEAD = 256
"""Pieces that the thread reads before they are taken; then it waits, and so does the server. Bounds memory."""

_ROOM = 0.5
"""Seconds between two looks whether somebody still wants the rest."""

_PIECE = 65536


class WireError(Exception):
    """No answer, or only a part of one.

    lasting: trying again cannot help (a certificate that is not trusted)
    """

    def __init__(self, reason: str, *, lasting: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting


class Answer:
    """Status, headers (names in lower case) and the body as it comes."""

    def __init__(
        self, status: int, headers: Mapping[str, str], exchange: _Exchange, line: _ConnectionThread
    ) -> None:
        self.status = status
        self.headers = headers
        self._exchange = exchange
        self._line = line

    async def iter_chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive. Raises WireError when it breaks off."""
        while piece := await self._exchange.next_chunk():
            yield piece

    async def read(self, limit: int = _MAX_ANSWER) -> bytes:
        """The whole body, or its first `limit` bytes; the rest of it is then given up."""
        body = bytearray()
        async for piece in self.iter_chunks():
            body += piece
            if len(body) >= limit:
                self.abandon()
                break
        return bytes(body[:limit])

    def abandon(self) -> None:
        """Close the connection now, if it still serves this answer."""
        if self._line.serves is self._exchange:
            self._line.shut_down()


class HttpClient:
    """Posts to one URL. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are respected."""

    def __init__(
        self, url: str, *, connect_timeout: float = CONNECT_TIMEOUT, idle_timeout: float = IDLE_TIMEOUT
    ) -> None:
        self._route = resolve_route(url, connect_timeout, idle_timeout)
        self._line: _ConnectionThread | None = None

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send `body` and wait for the head of the answer. Raises WireError; UserError for a bad CA file."""
        line = await self._get_idle_connection()
        exchange = _Exchange(headers, body)
        line.send(exchange)
        try:
            status, answer_headers = await exchange.wait_for_head()
        except asyncio.CancelledError:  # the caller lost interest: so does the connection
            line.shut_down()
            raise
        return Answer(status, answer_headers, exchange, line)

    def close(self) -> None:
        """Close the connection. Safe to call twice; a later `post` opens a new one."""
        if self._line is not None:
            self._line.shut_down()
            self._line = None

    async def _get_idle_connection(self) -> _ConnectionThread:
        if self._line is not None and not await self._line.is_free():
            self.close()  # the last answer still has not ended: nobody waits for its rest
        if self._line is None:
            self._line = _ConnectionThread(self._route)
        return self._line


@dataclass(frozen=True, slots=True)
class _Head:
    status: int
    headers: Mapping[str, str]


class _Exchange:
    """One request, and the queue that carries its answer from the thread to the event loop."""

    def __init__(self, headers: Mapping[str, str], body: bytes) -> None:
        self.headers = headers
        self.body = body
        self._loop = asyncio.get_running_loop()
        self._items: deque[_Head | bytes | Exception] = deque()
        self._come = asyncio.Event()
        self._told = (
            False  # that something has come; the loop is woken once, however much comes until it looks
        )
        self.room = threading.Semaphore(_AHEAD)
        """Taken by the thread for each piece of the body, given back when that is taken."""

    def put(self, item: _Head | bytes | Exception) -> None:
        """From the thread: the head, then pieces, then b"" or what went wrong."""
        self._items.append(item)
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._come.set)

    async def wait_for_head(self) -> tuple[int, Mapping[str, str]]:
        item = await self._next_item()
        if isinstance(item, _Head):
            return item.status, item.headers
        raise item if isinstance(item, Exception) else AssertionError("a body before its head")

    async def next_chunk(self) -> bytes:
        """All that has come since the last one: an answer that comes faster than it is shown costs little a word."""
        item = await self._next_item()
        if not isinstance(item, bytes):
            raise item if isinstance(item, Exception) else AssertionError("two heads")
        pieces = [item]
        while item and self._items and isinstance(more := self._items[0], bytes) and more:
            pieces.append(more)
            self._items.popleft()
        self.room.release(len(pieces))
        return b"".join(pieces)

    async def _next_item(self) -> _Head | bytes | Exception:
        while not self._items:
            self._come.clear()
            self._told = False
            if not self._items:  # else it came just before that, and told of nothing
                await self._come.wait()
        return self._items.popleft()


class _ConnectionThread:
    """One connection and its thread: serves one exchange after another until it is cut.

    The thread is a daemon, so that a name server that hangs can't hold up the program's end.
    """

    def __init__(self, route: Route) -> None:
        self.serves: _Exchange | None = None
        self._route = route
        self._exchanges: queue.SimpleQueue[_Exchange | None] = queue.SimpleQueue()
        self._cut = False
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._used = 0.0
        threading.Thread(target=self._serve_exchanges, name="model-connection", daemon=True).start()

    def send(self, exchange: _Exchange) -> None:
        self.serves = exchange
        self._exchanges.put(exchange)

    async def is_free(self) -> bool:
        """Whether the last answer has ended; waits a moment for an end that is on its way."""
        for _ in range(_MOMENTS):
            if self.serves is None or self._cut:
                break
            await asyncio.sleep(_MOMENT)
        return self.serves is None and not self._cut

    def shut_down(self) -> None:
        """From the event loop: end the thread, waking it if it waits for the server."""
        self._cut = True
        self._exchanges.put(None)
        connected = self._socket  # the thread may hang up meanwhile
        if connected is not None:
            with suppress(OSError):  # closed already
                # Not SSLSocket.shutdown, which would pull the TLS state from under the reading thread.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _serve_exchanges(self) -> None:
        while (exchange := self._exchanges.get()) is not None:
            try:
                self._perform_exchange(exchange)
            except Exception as error:  # whatever it is, the one who waits for the answer must hear of it
                self._close_connection()
                self.serves = None
                exchange.put(_translate_error(error, self._route))
        self._close_connection()

    def _perform_exchange(self, exchange: _Exchange) -> None:
        if time.monotonic() - self._used > _REUSE:
            self._close_connection()
        kept_alive = self._connection is not None
        try:
            response = self._send_request(exchange)
        except (ConnectionError, ssl.SSLError):
            if not kept_alive or self._cut:
                raise
            self._close_connection()  # the server had closed it meanwhile, so this request was not looked at
            response = self._send_request(exchange)
        with (
            response
        ):  # also when it breaks off: it would keep the socket open that the connection has closed
            self._forward_body(response, exchange)
        if response.will_close:
            self._close_connection()
        self._used = time.monotonic()
        self.serves = None
        exchange.put(b"")

    def _forward_body(self, response: http.client.HTTPResponse, exchange: _Exchange) -> None:
        headers = {name.lower(): value for name, value in response.getheaders()}
        exchange.put(_Head(response.status, headers))
        size = 0
        while piece := response.read1(_PIECE):
            size += len(piece)
            if size > _MAX_ANSWER:
                raise WireError(f"the answer is larger than {_MAX_ANSWER >> 20} MB")
            while not exchange.room.acquire(timeout=_ROOM):
                if self._cut:
                    raise WireError("interrupted")
            exchange.put(piece)
        if response.length:  # http.client does not tell a short body from a whole one
            raise http.client.IncompleteRead(b"", response.length)

    def _send_request(self, exchange: _Exchange) -> http.client.HTTPResponse:
        headers = {**exchange.headers, **self._route.proxy_headers()}
        if self._connection is None:
            self._connection = self._route.create_connection()
            self._connection.connect()
            self._socket = self._connection.sock
            self._socket.settimeout(self._route.idle_timeout)
            if self._cut:  # while we were connecting, when there was no socket to shut down yet
                raise WireError("interrupted")
        self._connection.request("POST", self._route.target, exchange.body, headers)
        return self._connection.getresponse()

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._socket = None


def _translate_error(error: Exception, route: Route) -> Exception:
    whom = f"proxy {route.proxy.hostname}" if route.proxy else route.host
    match error:
        case UserError() | WireError():
            return error
        case ssl.SSLCertVerificationError():
            return WireError(f"its certificate is not trusted: {error.verify_message}", lasting=True)
        case ConnectionRefusedError():
            return WireError("connection refused")
        case socket.gaierror() | UnicodeError():  # a label that is no host name fails in its encoding
            return WireError(f"there is no host {whom!r}")
        case TimeoutError():
            return WireError("it did not answer in time")
        case http.client.RemoteDisconnected():
            return WireError("it closed the connection without an answer")
        case http.client.IncompleteRead():
            return WireError("the answer broke off")
        case http.client.HTTPException():
            return WireError(f"it does not speak HTTP ({type(error).__name__})")
        case OSError():
            return WireError(error.strerror or str(error))
        case _:
            return error
