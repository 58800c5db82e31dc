"""A small HTTP/1.1 client for streamed answers: `http.client`, one kept-alive connection in its own thread.

The thread reads every answer to its end, so that the connection can be reused; a caller that no longer needs
an answer abandons it, which shuts the socket down at once and wakes the thread. Connections belong to no
event loop.
"""

from __future__ import annotations

import asyncio
import errno
import http.client
import queue
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress

from agent.model.http.http_route import Route, is_loopback, resolve_route
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

CONNECT_TIMEOUT = 10.0
"""Seconds to connect: a distant server takes one, a dead one would take minutes."""

IDLE_TIMEOUT = 300.0
"""Seconds without a byte: reasoning models can be silent for minutes."""

_REUSE = 60.0
"""Seconds after which an idle connection is not reused: routers drop it silently."""

_MOMENT, _MOMENTS = 0.002, 25
"""Seconds and number of polls for an answer's last bytes, which mostly arrive with the previous ones: less
than a new connection costs."""

_MAX_ANSWER = 256 << 20
"""Limit on the bytes of one answer. Servers send 200 to 300 bytes around each token: ten times the longest
output of any model."""

_AHEAD = 256
"""Chunks that the thread reads ahead; then it waits, and so does the server. Bounds memory."""

_ROOM = 0.5
"""Seconds between checks whether the answer is still wanted."""

_PIECE = 65536
"""Bytes that are read, and passed on, at a time."""


class WireError(Exception):
    """No answer, or only a part of one.

    lasting: a retry cannot help (an untrusted certificate)
    absent: nothing listens at the address on this machine; only a server that restarts would be back
    damaged: what came is not to be believed
    unconnected: this machine has no network
    """

    def __init__(
        self,
        reason: str,
        *,
        lasting: bool = False,
        absent: bool = False,
        damaged: bool = False,
        unconnected: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lasting = lasting
        self.absent = absent
        self.damaged = damaged
        self.unconnected = unconnected


class Answer:
    """Status, headers (names in lower case) and the streamed body."""

    def __init__(
        self, status: int, headers: Mapping[str, str], exchange: _Exchange, line: _ConnectionThread
    ) -> None:
        self.status = status
        self.headers = headers
        self._exchange = exchange
        self._line = line

    async def iter_chunks(self) -> AsyncIterator[bytes]:
        """Yield the body's bytes as they arrive. Raises WireError if the connection breaks."""
        while piece := await self._exchange.next_chunk():
            yield piece

    async def read(self, limit: int = _MAX_ANSWER) -> bytes:
        """Return the whole body, or its first `limit` bytes; the rest is then abandoned."""
        body = bytearray()
        async for piece in self.iter_chunks():
            body += piece
            if len(body) >= limit:
                self.abandon()
                break
        return bytes(body[:limit])

    def abandon(self) -> None:
        """Close the connection at once, if it still serves this answer."""
        if self._line.serves is self._exchange:
            self._line.shut_down()


class HttpClient:
    """HTTP client that posts to one URL. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are respected."""

    def __init__(
        self, url: str, *, connect_timeout: float = CONNECT_TIMEOUT, idle_timeout: float = IDLE_TIMEOUT
    ) -> None:
        self._route = resolve_route(url, connect_timeout, idle_timeout)
        self._line: _ConnectionThread | None = None

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send `body` and wait for the status and headers. Raises WireError; UserError for a bad CA file."""
        line = await self._get_idle_connection()
        exchange = _Exchange(headers, body)
        line.send(exchange)
        try:
            status, answer_headers = await exchange.wait_for_head()
        except asyncio.CancelledError:  # the caller was cancelled: drop the connection
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
            self.close()  # the last answer has not ended, and its rest is not wanted
        if self._line is None:
            self._line = _ConnectionThread(self._route)
        return self._line


@dataclass(frozen=True, slots=True)
class _Head:
    status: int
    headers: Mapping[str, str]


class _Exchange:
    """One request, and the queue that passes its answer from the thread to the event loop."""

    def __init__(self, headers: Mapping[str, str], body: bytes) -> None:
        self.headers = headers
        self.body = body
        self._loop = asyncio.get_running_loop()
        self._items: deque[_Head | bytes | Exception] = deque()
        self._come = asyncio.Event()
        self._told = False  # whether the loop has been woken; once per wait, however many items arrive
        self.room = threading.Semaphore(_AHEAD)
        """Acquired by the thread for each chunk of the body, released when the chunk is taken."""

    def put(self, item: _Head | bytes | Exception) -> None:
        """Enqueue from the thread: the head, then chunks, then b"" or an exception."""
        self._items.append(item)
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop is closed: there is no waiter any more
                self._loop.call_soon_threadsafe(self._come.set)

    async def wait_for_head(self) -> tuple[int, Mapping[str, str]]:
        item = await self._next_item()
        if isinstance(item, _Head):
            return item.status, item.headers
        raise item if isinstance(item, Exception) else AssertionError("a body before its head")

    async def next_chunk(self) -> bytes:
        """Return the chunks that arrived since the last call, so that a fast answer costs little per token."""
        item = await self._next_item()
        if not isinstance(item, bytes):
            raise item if isinstance(item, Exception) else AssertionError("two heads")
        pieces, size = [item], len(item)
        while item and size < _PIECE and self._items and isinstance(more := self._items[0], bytes) and more:
            pieces.append(more)
            size += len(more)
            self._items.popleft()
        self.room.release(len(pieces))
        return b"".join(pieces)

    async def _next_item(self) -> _Head | bytes | Exception:
        while not self._items:
            self._come.clear()
            self._told = False
            if not self._items:  # else it arrived just before, without waking the loop
                await self._come.wait()
        return self._items.popleft()


class _ConnectionThread:
    """One connection and its thread: serves one exchange after another until it is shut down.

    The thread is a daemon, so that a hanging name server can't delay the program's exit.
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
        """Return whether the last answer has ended; waits briefly for an end that is about to arrive."""
        for _ in range(_MOMENTS):
            if self.serves is None or self._cut:
                break
            await asyncio.sleep(_MOMENT)
        return self.serves is None and not self._cut

    def shut_down(self) -> None:
        """End the thread from the event loop, waking it if it waits for the server."""
        self._cut = True
        self._exchanges.put(None)
        connected = self._socket  # the thread may close it meanwhile
        if connected is not None:
            with suppress(OSError):  # closed already
                # Not SSLSocket.shutdown, which would pull the TLS state from under the reading thread.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _serve_exchanges(self) -> None:
        while (exchange := self._exchanges.get()) is not None:
            try:
                self._perform_exchange(exchange)
            except Exception as error:  # any error at all must reach the waiting caller
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
            self._close_connection()  # the server had closed it meanwhile, so it did not process this request
            response = self._send_request(exchange)
        with (
            response
        ):  # also on failure: the response would keep the socket open that the connection has closed
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
        for piece in _read_pieces(response, headers.get("content-encoding", "").strip().lower()):
            size += len(piece)
            if size > _MAX_ANSWER:
                raise WireError(f"the answer is larger than {_MAX_ANSWER >> 20} MB")
            while not exchange.room.acquire(timeout=_ROOM):
                if self._cut:
                    raise WireError("interrupted")
            exchange.put(piece)
        if response.length:  # http.client does not distinguish a short body from a whole one
            raise http.client.IncompleteRead(b"", response.length)

    def _send_request(self, exchange: _Exchange) -> http.client.HTTPResponse:
        headers = {**exchange.headers, **self._route.proxy_headers()}
        if self._connection is None:
            self._connection = self._route.create_connection()
            self._connection.connect()
            self._socket = self._connection.sock
            self._socket.settimeout(self._route.idle_timeout)
            if self._cut:  # while connecting, when there was no socket to shut down yet
                raise WireError("interrupted")
        self._connection.request("POST", self._route.target, exchange.body, headers)
        return self._connection.getresponse()

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._socket = None


def _read_pieces(response: http.client.HTTPResponse, encoding: str) -> Iterator[bytes]:
    """Yield the body as it arrives, decoded where it is compressed. Raises WireError."""
    if encoding in ("", "identity"):
        while piece := response.read1(_PIECE):
            yield piece
        return
    from agent.model.http.body_decoding import BodyDecoder, DamagedBody

    try:
        decoder = BodyDecoder(encoding, _PIECE)
        while piece := response.read1(_PIECE):
            yield from decoder.feed(piece)
        if not response.length:  # else it broke off
            decoder.finish()
    except DamagedBody as problem:
        raise WireError(str(problem), damaged=True) from None


def _translate_error(error: Exception, route: Route) -> Exception:
    whom = f"proxy {route.proxy.hostname}" if route.proxy else route.host
    match error:
        case UserError() | WireError():
            return error
        case ssl.SSLCertVerificationError():
            return WireError(f"its certificate is not trusted: {error.verify_message}", lasting=True)
        case ConnectionRefusedError():
            local = route.proxy is None and is_loopback(route.host)
            return WireError("connection refused", absent=local)
        case socket.gaierror(errno=socket.EAI_AGAIN):
            return WireError(f"no network: the name {whom!r} cannot be looked up", unconnected=True)
        case OSError(errno=errno.ENETUNREACH | errno.ENETDOWN):
            return WireError("no network", unconnected=True)
        case socket.gaierror() | UnicodeError():  # an invalid label of a host name fails in its encoding
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
