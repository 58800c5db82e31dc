"""Proxy that is the only network access of commands: listed hosts, at public addresses, by HTTP or a tunnel."""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from sandbox.lazy_dataclass import dataclass
from sandbox.network.hosts import HostRule, Target, is_public
from sandbox.network.proxy_request import Refused, Request, parse_request
from sandbox.network.tunnel import Tunnel

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Map a name and a port to addresses."""

Dial = Callable[[str, int], Awaitable[tuple[StreamReader, StreamWriter]]]
"""Map an address and a port to a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficLimits:
    """Ceilings of one command's traffic.

    head: bytes of a request's head; clients send 1 to 4 KiB, cookies included
    waiting: seconds for the head, for the name and for the connection
    idle: seconds without traffic either way
    connections: at once; package managers open up to 50
    total: bytes both ways together
    """

    head: int = 16 << 10
    waiting: float = 15.0
    idle: float = 120.0
    connections: int = 64
    total: int = 4 << 30


async def resolve_addresses(host: str, port: int) -> Sequence[str]:
    """Return all addresses that this machine's resolver knows for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def connect_to_address(address: str, port: int) -> tuple[StreamReader, StreamWriter]:
    """Connect to an address, never to a name."""
    return await asyncio.open_connection(address, port)


class Proxy:
    """Filter of commands' requests. A name is resolved here, once, and the connection goes to the address
    that was checked: a second answer of the name server changes nothing.

    rules: hosts that may be reached
    resolve, dial: resolver and connector
    """

    def __init__(
        self,
        rules: Sequence[HostRule],
        *,
        resolve: Resolve = resolve_addresses,
        dial: Dial = connect_to_address,
        bounds: TrafficLimits | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.resolve = resolve
        self.dial = dial
        self.bounds = bounds or TrafficLimits()

    async def serve(self, listener: socket.socket, noticed: list[str]) -> None:
        """Serve the connections of a listener until cancelled; then no connection is left.

        noticed: receives a sentence for each refusal
        """
        traffic = _Traffic(self, noticed)
        server = await asyncio.start_server(traffic.accept, sock=listener, limit=self.bounds.head)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()
            await traffic.close()

    async def connect_target(self, target: Target) -> tuple[StreamReader, StreamWriter]:
        """Connect to a target that is allowed. Raises Refused."""
        if not any(rule.matches(target) for rule in self.rules):
            raise Refused("403 Forbidden", f"{target}: not on the list of the setting `network`")
        try:
            async with asyncio.timeout(self.bounds.waiting):
                found = await self.resolve(target.host, target.port)
        except (OSError, UnicodeError, TimeoutError):
            raise Refused("502 Bad Gateway", f"{target}: the name could not be resolved") from None
        private = [address for address in found if not is_public(address)]
        if private or not found:
            where = f"leads to {private[0]}, which is no public address" if private else "has no address"
            raise Refused("403 Forbidden", f"{target}: the name {where}")
        for address in found[:_TRIED]:
            with suppress(OSError, TimeoutError):  # the next address may answer
                async with asyncio.timeout(self.bounds.waiting):
                    return await self.dial(address, target.port)
        raise Refused("502 Bad Gateway", f"{target}: no connection")


_TRIED = 4
"""Addresses tried per name: more would exceed the time that a client waits."""

_MOST_NOTES = 20
"""Distinct refusals reported of one command: a port scan must not fill an observation."""

_CHUNK = 64 << 10
_READY = b"HTTP/1.1 200 Connection established\r\n\r\n"


class _Traffic:
    """The connections of one command."""

    def __init__(self, proxy: Proxy, noticed: list[str]) -> None:
        self._proxy = proxy
        self._bounds = proxy.bounds
        self._noticed = noticed
        self._tasks: set[asyncio.Task[None]] = set()
        self._bytes = 0

    def accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        if len(self._tasks) >= self._bounds.connections:
            self._record_refusal(f"more than {self._bounds.connections} connections at once")
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._handle_connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _record_refusal(self, reason: str) -> None:
        note = f"network: refused: {reason}"
        if note not in self._noticed and len(self._noticed) < _MOST_NOTES:
            self._noticed.append(note)

    async def _handle_connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            try:
                await self._handle_request(reader, writer)
            except Refused as refused:
                if refused.told:
                    self._record_refusal(refused.reason)
                await self._send_refusal(writer, refused)
            await self._close_writer(writer)
        except (OSError, EOFError, TimeoutError):  # one side closed, or was silent for too long
            pass
        finally:
            writer.transport.abort()

    async def _close_writer(self, writer: StreamWriter) -> None:
        """Close when all is sent; with a timeout, for clients that do not read."""
        writer.close()
        async with asyncio.timeout(self._bounds.waiting):
            await writer.wait_closed()

    async def _send_refusal(self, writer: StreamWriter, refused: Refused) -> None:
        words = f"patchwright: {refused.reason}\n".encode()
        head = (
            f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(words)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + words)
        async with asyncio.timeout(self._bounds.waiting):
            await writer.drain()

    async def _handle_request(self, reader: StreamReader, writer: StreamWriter) -> None:
        request = parse_request(await self._read_head(reader))
        upstream, upward = await self._proxy.connect_target(request.target)
        try:
            if request.method == "CONNECT":
                writer.write(_READY)
            else:
                upward.write(request.forwarded)
            async with asyncio.timeout(self._bounds.idle) as deadline:
                await self._relay_both_ways(request, (reader, upward), (upstream, writer), deadline)
            await self._close_writer(upward)
        except Refused as refused:  # too late for a response: bytes of the upstream's may have been passed on
            if refused.told:
                self._record_refusal(refused.reason)
            raise EOFError from None
        finally:
            upward.transport.abort()

    async def _read_head(self, reader: StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self._bounds.waiting):
                return await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refused("431 Request Header Fields Too Large", "too long a head", told=False) from None
        except TimeoutError:
            raise Refused("408 Request Timeout", "too slow a head", told=False) from None

    async def _relay_both_ways(
        self,
        request: Request,
        up: tuple[StreamReader, StreamWriter],
        down: tuple[StreamReader, StreamWriter],
        deadline: asyncio.Timeout,
    ) -> None:
        """Relay until the upstream has no more. Data that a client sends after its one request is never read."""
        if request.method == "CONNECT":
            tunnel = Tunnel(request.target)
            upward, downward = (
                self._relay_client(tunnel, *up, deadline),
                self._relay_server(tunnel, *down, up[1], deadline),
            )
        else:
            upward, downward = (
                self._send_body(request, *up, deadline),
                self._copy_bytes(*down, None, deadline),
            )
        sending, receiving = asyncio.create_task(upward), asyncio.create_task(downward)
        try:
            done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _send_body(
        self, request: Request, reader: StreamReader, writer: StreamWriter, deadline: asyncio.Timeout
    ) -> None:
        if request.body == "length":
            await self._copy_bytes(reader, writer, request.length, deadline)
        elif request.body == "chunked":
            await self._copy_chunks(reader, writer, deadline)

    async def _relay_client(
        self, tunnel: Tunnel, reader: StreamReader, writer: StreamWriter, deadline: asyncio.Timeout
    ) -> None:
        """Relay the client's bytes, as far as the tunnel allows."""
        while not tunnel.is_open and (data := await reader.read(_CHUNK)):
            await self._forward_bytes(tunnel.receive_from_client(data), writer, deadline)
            await tunnel.goes_on.wait()
        if not tunnel.is_open:
            tunnel.close_client_side()
        if not tunnel.is_open:  # in the middle of its hello messages
            raise EOFError
        await self._copy_bytes(reader, writer, None, deadline)

    async def _relay_server(
        self,
        tunnel: Tunnel,
        reader: StreamReader,
        writer: StreamWriter,
        upward: StreamWriter,
        deadline: asyncio.Timeout,
    ) -> None:
        """Relay the server's bytes; they may release more of the client's."""
        while not tunnel.is_open and (data := await reader.read(_CHUNK)):
            await self._forward_bytes(tunnel.receive_from_server(data), upward, deadline)
            await self._forward_bytes(data, writer, deadline)
        if not tunnel.is_open:
            tunnel.close_server_side()
        await self._copy_bytes(reader, writer, None, deadline)

    async def _copy_bytes(
        self, reader: StreamReader, writer: StreamWriter, length: int | None, deadline: asyncio.Timeout
    ) -> None:
        """Relay so many bytes, or all, and then the end of stream too."""
        left = length
        while left != 0:
            data = await reader.read(_CHUNK if left is None else min(_CHUNK, left))
            if not data:
                break
            left = None if left is None else left - len(data)
            await self._forward_bytes(data, writer, deadline)
        if left is None:
            writer.write_eof()
        elif left:
            raise EOFError

    async def _copy_chunks(
        self, reader: StreamReader, writer: StreamWriter, deadline: asyncio.Timeout
    ) -> None:
        """Relay a chunked body, re-encoded: the other side reads it as it was parsed here."""
        size = -1
        while size:
            size = _parse_chunk_size(await self._read_line(reader))
            if not size:
                break
            await self._forward_bytes(b"%x\r\n" % size, writer, deadline)
            await self._copy_bytes(reader, writer, size, deadline)
            if await self._read_line(reader):
                raise Refused("400 Bad Request", "malformed request: a chunk longer than it says", told=False)
            await self._forward_bytes(b"\r\n", writer, deadline)
        while await self._read_line(reader):  # trailers are not passed on
            pass
        await self._forward_bytes(b"0\r\n\r\n", writer, deadline)

    async def _read_line(self, reader: StreamReader) -> bytes:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError:
            raise Refused("400 Bad Request", "malformed request: too long a line", told=False) from None
        self._count_bytes(len(line))
        return line[:-2]

    async def _forward_bytes(self, data: bytes, writer: StreamWriter, deadline: asyncio.Timeout) -> None:
        self._count_bytes(len(data))
        deadline.reschedule(asyncio.get_running_loop().time() + self._bounds.idle)
        writer.write(data)
        await writer.drain()

    def _count_bytes(self, more: int) -> None:
        self._bytes += more
        if self._bytes > self._bounds.total:
            raise Refused("403 Forbidden", f"more than {self._bounds.total} bytes in one command")


def _parse_chunk_size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].rstrip(b" \t")
    if not 0 < len(digits) <= _SIZE_DIGITS or digits.strip(b"0123456789abcdefABCDEF"):
        raise Refused("400 Bad Request", "malformed request: a chunk without a size", told=False)
    return int(digits, 16)


_SIZE_DIGITS = 15
