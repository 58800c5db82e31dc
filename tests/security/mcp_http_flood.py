"""Hostile MCP servers over HTTP on loopback: the path names the attack (see `ATTACKS`); up to it they behave."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

ADD = {"name": "add", "description": "Add two numbers.", "inputSchema": {"type": "object"}}
CHUNK = b"x" * (1 << 20)
OTHER_ORIGIN = "http://127.0.0.1:9"


class Handler(BaseHTTPRequestHandler):
    """One request to one of the servers."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send_plain(405)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, method = message.get("id"), message["method"]
        how = unquote(self.path.strip("/"))
        self.seen.append((how, method, {name.lower(): value for name, value in self.headers.items()}))
        with suppress(OSError):  # the client has enough
            if how in FIRST:
                FIRST[how](self, number)
            elif number is None:
                self.send_plain(202)
            elif method == "initialize":
                about = {"name": "flood", "version": "1"}
                version = message["params"]["protocolVersion"]
                capabilities = {"tools": {"listChanged": True}}
                self.answer(
                    number, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
                )
            elif method == "tools/list":
                LISTS.get(how, offer(ADD))(self, number)
            elif method == "tools/call":
                CALLS.get(how, answer_call)(self, number)
            else:
                error = {"code": -32601, "message": f"no method {method}"}
                self.send_json({"jsonrpc": "2.0", "id": number, "error": error})

    @property
    def seen(self) -> list[tuple[str, str, dict[str, str]]]:
        return self.server.seen  # type: ignore[attr-defined, no-any-return]

    def answer(self, number: object, result: object) -> None:
        self.send_json({"jsonrpc": "2.0", "id": number, "result": result})

    def send_json(self, message: object) -> None:
        self.send_body(json.dumps(message).encode(), "application/json")

    def send_body(self, body: bytes, kind: str, *, status: int = 200, **more: str) -> None:
        self.begin(kind, len(body), status=status, **more)
        self.wfile.write(body)

    def send_plain(self, status: int, **more: str) -> None:
        self.send_body(b"", "text/plain", status=status, **more)

    def begin(self, kind: str, size: int | None = None, *, status: int = 200, **more: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        if size is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(size))
        self.end_headers()


Attack = Callable[[Handler, object], None]


def offer(*tools: object) -> Attack:
    return lambda handler, number: handler.answer(number, {"tools": tools})


def answer_call(handler: Handler, number: object) -> None:
    handler.answer(number, {"content": [{"type": "text", "text": "called add"}]})


def send_100_mb(handler: Handler, number: object) -> None:
    handler.begin("application/json", 100 << 20)
    for _ in range(100):
        handler.wfile.write(CHUNK)


def send_one_event_of_100_mb(handler: Handler, number: object) -> None:
    handler.begin("text/event-stream")
    handler.wfile.write(b"data: ")
    for _ in range(100):
        handler.wfile.write(CHUNK)


def send_events_without_end(handler: Handler, number: object) -> None:
    event = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}\n\n'
    handler.begin("text/event-stream")
    while True:
        handler.wfile.write(event * 1000)


def send_comments_without_end(handler: Handler, number: object) -> None:
    handler.begin("text/event-stream")
    while True:
        handler.wfile.write(b": still here\n" * 5000)


def send_a_bomb(handler: Handler, number: object) -> None:
    handler.send_body(gzip.compress(b" " * (64 << 20)), "application/json", Content_Encoding="gzip")


def hang(handler: Handler, number: object) -> None:
    handler.begin("text/event-stream")
    with handler.server.ended:  # type: ignore[attr-defined]
        handler.server.ended.wait(60)  # type: ignore[attr-defined]


def close_each_stream(handler: Handler, number: object) -> None:
    """End each stream before its answer, and ask to come back at once."""
    handler.begin("text/event-stream")
    handler.wfile.write(b"id: 1\nretry: 0\ndata:\n\n")


def redirect(status: int) -> Attack:
    return lambda handler, number: handler.send_plain(status, Location=f"{OTHER_ORIGIN}/mcp")


def send_half_an_answer(handler: Handler, number: object) -> None:
    handler.begin("application/json", 1000)
    handler.wfile.write(b'{"jsonrpc":')
    handler.close_connection = True


FIRST: dict[str, Attack] = {
    "moved": redirect(307),
    "moved by 302": redirect(302),
    "unauthorized": lambda handler, number: handler.send_plain(401, WWW_Authenticate="Bearer"),
    "broken": lambda handler, number: handler.send_plain(503),
}
"""What it answers to everything."""

LISTS: dict[str, Attack] = {
    "100 MB": send_100_mb,
    "an event of 100 MB": send_one_event_of_100_mb,
    "events": send_events_without_end,
    "comments": send_comments_without_end,
    "a bomb": send_a_bomb,
    "hangs": hang,
    "closes": close_each_stream,
    "half": send_half_an_answer,
    "a page": lambda handler, number: handler.send_body(b"<html>welcome</html>", "text/html"),
    "no JSON": lambda handler, number: handler.send_body(b'{"jsonrpc": \xff', "application/json"),
    "lies": offer(
        5,
        {"name": ["add"]},
        {**ADD, "inputSchema": {"type": "banana", "properties": {"a": 5}, "required": 7}},
        {**ADD, "name": "n" * 1000},
    ),
}
"""What it answers to the request for its tools."""

CALLS: dict[str, Attack] = {f"call {name}": attack for name, attack in LISTS.items() if name != "lies"}
CALLS |= {"call moved": redirect(307), "call unauthorized": FIRST["unauthorized"]}
"""What it answers to a call."""


@dataclass
class HostileServers:
    """base: address below which the attacks are; seen: (attack, method, headers) of all requests"""

    base: str
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def find(self, how: str) -> str:
        return f"{self.base}/{how}".replace(" ", "%20")


@contextmanager
def serve_attacks() -> Iterator[HostileServers]:
    """Serve all attacks from threads."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = HostileServers(f"http://127.0.0.1:{server.server_address[1]}")
    server.seen, server.ended = found.seen, threading.Condition()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        with server.ended:
            server.ended.notify_all()
        server.shutdown()
        server.server_close()
        thread.join()
