"""An HTTP server that answers with the bytes that a test gives it: broken, endless or hostile ones, too.

`Loopback` speaks the formats as they are meant; this one keeps to none of them.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """One answer.

    pieces: of the body, which may have no end
    framing: how the body's end is marked: by chunks, by its length (pieces are then joined), or by the connection's end
    is_cut: reset the connection behind the pieces, in place of ending the body
    """

    pieces: Iterable[bytes]
    status: int = 200
    kind: str = "text/event-stream"
    framing: Literal["chunks", "length", "close"] = "chunks"
    is_cut: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class RawEndpoint:
    """The server, as a context manager.

    answer: makes an answer of a request's JSON, and of the number of requests before it
    requests: JSON of the requests that came; sent: bytes of bodies that were sent
    page: answer to GET requests
    """

    def __init__(self, answer: Callable[[Json, int], RawAnswer]) -> None:
        self.answer = answer
        self.requests: list[Json] = []
        self.sent = 0
        self.page = build_refusal("no such page", 404)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The API base."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> RawEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._server.connections):
            _reset(connection)


def format_event(data: object, name: str = "") -> bytes:
    """Return a server-sent event with JSON, or with a text as it is."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def format_events(*data: object) -> bytes:
    """Return several events."""
    return b"".join(format_event(each) for each in data)


def build_refusal(message: str, status: int = 400, **more: object) -> RawAnswer:
    """Return the refusal of a request in the shape that most servers share."""
    body = json.dumps({"error": {"message": message, **more}}).encode()
    return RawAnswer(pieces=[body], status=status, kind="application/json", framing="length")


def answer_in_turn(*answers: RawAnswer | bytes) -> Callable[[Json, int], RawAnswer]:
    """Return a function that gives these answers one after the other, and the last one for ever; bytes are a stream."""
    made = [each if isinstance(each, RawAnswer) else RawAnswer(pieces=[each]) for each in answers]
    return lambda body, before: made[min(before, len(made) - 1)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: RawEndpoint

    def __init__(self, *arguments: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing on stderr: clients go away in the middle of hostile answers."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def log_message(self, *arguments: object) -> None:
        """Nothing on stderr."""

    def do_GET(self) -> None:
        """Answer with the page; usually there is none."""
        self._send(self.server.endpoint.page)

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        endpoint = self.server.endpoint
        before = len(endpoint.requests)
        endpoint.requests.append(body)
        self._send(endpoint.answer(body, before))

    def _send(self, answer: RawAnswer) -> None:
        pieces: Iterator[bytes] | Sequence[bytes] = iter(answer.pieces)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.framing == "length":
            pieces = [b"".join(pieces)]
            self.send_header("Content-Length", str(len(pieces[0])))
        elif answer.framing == "chunks":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        for piece in pieces:
            is_chunk = answer.framing == "chunks"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunk else piece)
            self.server.endpoint.sent += len(piece)
        if answer.is_cut:
            self.close_connection = True
            _reset(self.connection)
        elif answer.framing == "chunks":
            self.wfile.write(b"0\r\n\r\n")


def _reset(connection: socket.socket) -> None:
    """Close so that the other side sees a reset, not an orderly end."""
    with suppress(OSError):  # closed already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
