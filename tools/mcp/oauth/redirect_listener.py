"""Receiver of the browser's redirect at the end of a sign-in (RFC 8252, 7.3): on 127.0.0.1, at a random port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

PATH = "/callback"

_MOST = 16 << 10
"""Bytes of a request's head."""

_SECONDS = 10.0
"""Time for a browser to send its request: a connection that says nothing is closed."""

_PAGE = """HTTP/1.1 {status} {phrase}\r
Content-Type: text/plain; charset=utf-8\r
Content-Security-Policy: default-src 'none'\r
Referrer-Policy: no-referrer\r
Cache-Control: no-store\r
Connection: close\r
\r
{text}
"""


class RedirectListener:
    """Waits for one request to `address` with the state of this sign-in, and keeps its parameters.

    state: of the page that was opened, "" before: any page of the browser can send requests here
    """

    def __init__(self) -> None:
        self.address = ""
        self.state = ""
        self._host = ""
        self._found: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    def set_port(self, port: int) -> None:
        """Name the port that the system chose."""
        self._host = f"127.0.0.1:{port}"
        self.address = f"http://{self._host}{PATH}"

    async def wait(self) -> Mapping[str, str]:
        """Return the parameters of the redirect."""
        return await self._found

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        try:
            with suppress(
                OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                async with asyncio.timeout(_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, text = self._take_redirect(head.decode("latin-1"))
                    page = _PAGE.format(status=status.value, phrase=status.phrase, text=text)
                    writer.write(page.encode())
                    await writer.drain()
        finally:
            writer.close()

    def _take_redirect(self, head: str) -> tuple[HTTPStatus, str]:
        first, *lines = head.split("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.rpartition(" ")[0])
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        if method != "GET" or target.path != PATH or hosts != [self._host]:
            return HTTPStatus.NOT_FOUND, "Nothing is here."
        found = parse_qs(target.query, max_num_fields=32)
        if self._found.done() or any(len(values) > 1 for values in found.values()):
            return HTTPStatus.BAD_REQUEST, "This sign-in has ended already."
        if not self.state or found.get("state") != [self.state]:
            return HTTPStatus.BAD_REQUEST, "This is no answer to the sign-in."
        self._found.set_result({key: values[0] for key, values in found.items()})
        return HTTPStatus.OK, "Patchwright has the answer. Close this page and return to the terminal."


@asynccontextmanager
async def listen_for_redirect() -> AsyncIterator[RedirectListener]:
    """Listen while the block is open."""
    listener = RedirectListener()
    server = await asyncio.start_server(listener.answer, "127.0.0.1", 0, limit=_MOST)
    listener.set_port(server.sockets[0].getsockname()[1])
    try:
        yield listener
    finally:
        server.close()
