"""A small Internet for tests: names with public addresses, all of which lead to one server on loopback."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.network.hosts import parse_host_rules
from sandbox.network.proxy import Proxy, TrafficLimits, connect_to_address

PUBLIC = "93.184.216.34"
NAMES = {"shop.example": [PUBLIC], "a.b.cdn.example": ["2606:2800:220:1::1"], "other.example": [PUBLIC]}
HOSTS = ("shop.example", "*.cdn.example:443", "cloud.example", "mixed.example")

Serve = Callable[[StreamReader, StreamWriter], Coroutine[None, None, None]]
"""What the server does on each connection."""

Answer = TypeVar("Answer")


def certified(folder: Path) -> Path:
    """A folder with the certificate of shop.example, signed by itself, in cert.pem and its key in key.pem."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    argv = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=shop.example -keyout key.pem -out cert.pem"
    names = ["-addext", "subjectAltName=DNS:shop.example"]
    subprocess.run([*argv.split(), *names], cwd=folder, check=True, capture_output=True)
    return folder


class Internet:
    """names: addresses by name
    serve: what the server does instead of answering once
    answers: of the server by path; `answer` for all others
    served: what the server got on each connection; dialled: address and port of each; asked: names resolved
    """

    def __init__(self, names: dict[str, list[str]] | None = None, *, serve: Serve | None = None) -> None:
        self._serving = serve or self._serve
        self.names = NAMES | (names or {})
        self.served: list[bytes] = []
        self.dialled: list[tuple[str, int]] = []
        self.asked: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        self.answers: dict[str, bytes] = {}
        self.port = 0

    def proxy(self, hosts: Sequence[str] = HOSTS, bounds: TrafficLimits | None = None) -> Proxy:
        return Proxy(parse_host_rules(hosts), resolve=self._resolve, dial=self._dial, bounds=bounds)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return self.names[host]

    async def _dial(self, address: str, port: int) -> tuple[StreamReader, StreamWriter]:
        self.dialled.append((address, port))
        return await connect_to_address("127.0.0.1", self.port)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answers once, then says nothing more; keeps what comes until the other side is done."""
        place = len(self.served)
        self.served.append(b"")
        try:
            with suppress(OSError):  # the proxy closed
                while data := await reader.read(1 << 16):
                    if not self.served[place]:
                        words = data.split(b" ", 2)
                        writer.write(
                            self.answers.get(words[1].decode("latin-1"), self.answer)
                            if words[1:]
                            else self.answer
                        )
                        await writer.drain()
                    self.served[place] += data
                    if b"\r\n\r\n" in self.served[place] and b"Transfer-Encoding" not in self.served[place]:
                        length = _length(self.served[place])
                        if len(self.served[place].split(b"\r\n\r\n", 1)[1]) >= length:
                            break
                    if self.served[place].endswith(b"0\r\n\r\n"):
                        break
        finally:  # cancelled at the end of the story, too: what is left open is found in a later test
            writer.close()

    def run(
        self, story: Callable[[], Coroutine[None, None, Answer]], tls: ssl.SSLContext | None = None
    ) -> Answer:
        """The outcome of a story told while the server is up."""

        async def told() -> Answer:
            server = await asyncio.start_server(self._serving, "127.0.0.1", 0, ssl=tls)
            self.port = server.sockets[0].getsockname()[1]
            try:
                async with asyncio.timeout(60):
                    return await story()
            finally:
                server.close()

        return asyncio.run(told())


def _length(request: bytes) -> int:
    found = [line for line in request.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return int(found[0].split(b":")[1]) if found else 0


def ask(
    internet: Internet, *said: bytes, bounds: TrafficLimits | None = None
) -> tuple[list[bytes], list[str]]:
    """What the proxy answers to each, on connections of their own open at once, and what it noticed."""
    noticed: list[str] = []

    async def one(port: int, words: bytes) -> bytes:
        reader, writer = await connect_to_address("127.0.0.1", port)
        writer.write(words)
        answer = b""
        with suppress(ConnectionResetError):  # closed with something of ours unread
            answer = await reader.read()
        writer.transport.abort()
        return answer

    async def story() -> list[bytes]:
        listener = socket.create_server(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        serving = asyncio.create_task(internet.proxy(bounds=bounds).serve(listener, noticed))
        try:
            return await asyncio.gather(*(one(port, words) for words in said))
        finally:
            serving.cancel()
            await asyncio.wait([serving])

    return internet.run(story), noticed
