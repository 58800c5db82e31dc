"""A real HTTP server that speaks chat completions, responses and messages from a script: for tests and benchmarks.

    python tests/support/loopback.py --port 0 --script FILE [--log FILE] [--trouble JSON]…

prints its port and serves until it is ended; the API base is http://127.0.0.1:PORT/v1.
The script has the format of `agent.model.scripted.scripted_model`;
without one, every request is answered "ok". Each `--trouble` spoils one request, in order of arrival
(`null`: none): see `Trouble`.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run as a program: the checkout is two folders up
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agent.model.protocol import Request
from agent.model.scripted.scripted_model import Failure, Script, Turn
from sandbox.errors import Fault, UserError
from tests.support.wires import WIRES
from tools.core.action import Action

Answer = Callable[[Request], Mapping[str, Any]]
"""Turn of a script for a request that was received."""

_STATUS = {Fault.CREDENTIALS: 401, Fault.DENIED: 403, Fault.CONFIGURATION: 404}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What goes wrong with one request.

    status: answer with this status and `body` instead of the script's turn (which is not used up)
    retry_after: value of that header
    refuse: reset the connection without an answer
    cut_after: reset the connection after this many bytes of the answer's body; after all of them, before it is ended
    idle: seconds of silence in the stream, before piece `at`
    garbage: piece `at` of the stream is not JSON
    error: piece `at` of the stream is this error, in the words of the format, and the stream ends there
    at: the piece that these concern; 0 is the role, 1 the first word
    no_usage: token counts are left out
    whole: answer with one JSON object, as if `stream` were not known
    drop_after: close the connection after the answer, without having said so
    """

    status: int = 0
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: str = ""
    refuse: bool = False
    cut_after: int | None = None
    idle: float = 0.0
    garbage: bool = False
    error: str = ""
    at: int = 1
    no_usage: bool = False
    whole: bool = False
    drop_after: bool = False


@dataclass(slots=True, kw_only=True)
class Received:
    """One request: `arrived` when its last byte was read, `answered` when the answer's last byte was sent.

    sent: bytes of a streamed answer's body that were sent, or are being sent
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    raw: bytes
    connection: int
    arrived: float
    answered: float = 0.0
    sent: int = 0


class _AnswerScript:
    """Script whose turns a function makes of the requests."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._number = 0
        self._scripts: dict[int, Script] = {}

    def next_turn(self, request: Request) -> tuple[int, Turn]:
        """Return (number from 1, turn)."""
        self._number += 1
        made = Script.parse([{**self._answer(request), "repeat": 1_000_000}], name="loopback")
        self._scripts[self._number] = made
        return self._number, made.next_turn(request)[1]

    def build_actions(self, number: int, turn: Turn) -> tuple[Action, ...]:
        """Return the calls of a turn."""
        return self._scripts.pop(number).build_actions(number, turn)


class Loopback:
    """The server, as a context manager.

    script: a file, or the turns themselves, in the format of `agent.model.scripted.scripted_model`, or a function that
        makes a turn of each request
    keep: remember the bodies of requests (a benchmark of many steps does not want to)
    pages: JSON by path, answered beside the formats of models, as the common local servers do; page_delay: seconds
        until then
    """

    def __init__(
        self,
        script: Path | Sequence[Mapping[str, Any]] | Answer | None = None,
        *,
        troubles: Sequence[Trouble | None] = (),
        keep: bool = True,
        port: int = 0,
        log: Path | None = None,
        pages: Mapping[str, Any] | None = None,
        page_delay: float = 0.0,
    ) -> None:
        self.page_delay = page_delay
        self.pages = pages or {}
        turns = script if script is not None else [{"text": "ok", "repeat": 1_000_000}]
        self.script: Script | _AnswerScript
        if callable(turns):
            self.script = _AnswerScript(turns)
        elif isinstance(turns, Path):
            self.script = Script.load(turns)
        else:
            self.script = Script.parse(list(turns), name="loopback")
        self.troubles = list(troubles)
        self.requests: list[Received] = []
        self.keep = keep
        self.log = log
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.loopback = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The API base."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()

    def serve(self) -> None:
        """Serve in this thread until the process is ended."""
        self._server.serve_forever()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    loopback: Loopback

    def __init__(self, *arguments: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def close_connections(self) -> None:
        for connection in list(self.connections):
            _reset(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that has gone is no error
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    received: Received

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, *arguments: object) -> None:
        """Nothing on stderr."""

    def do_GET(self) -> None:
        """Answer with a page."""
        if self.server.loopback.page_delay:
            self.server.loopback.ended.wait(self.server.loopback.page_delay)
        page = self.server.loopback.pages.get(self.path)
        self._plain(404 if page is None else 200, json.dumps(page or {}), Trouble())

    def do_POST(self) -> None:
        """Answer one request."""
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if (
            self.path in self.server.loopback.pages or self.path == "/infill"
        ):  # no format of a session's requests
            self.do_GET()
            return
        body = json.loads(raw)
        loopback = self.server.loopback
        received = Received(
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body if loopback.keep else {},
            raw=raw if loopback.keep else b"",
            connection=self.client_address[1],
            arrived=time.monotonic(),
        )
        self.received = received
        with loopback.lock:
            loopback.requests.append(received)
            trouble = (loopback.troubles.pop(0) if loopback.troubles else None) or Trouble()
        try:
            self._answer(body, trouble)
        finally:
            received.answered = time.monotonic()
            if loopback.log is not None:
                with loopback.lock, loopback.log.open("a", encoding="utf-8") as log:
                    stamps = {"arrived": received.arrived, "answered": received.answered, "bytes": len(raw)}
                    log.write(json.dumps(stamps) + "\n")

    def _answer(self, body: Mapping[str, Any], trouble: Trouble) -> None:
        if trouble.refuse:
            self._reset()
            return
        if trouble.status:
            self._plain(trouble.status, trouble.body or '{"error":{"message":"as told"}}', trouble)
            return
        path = self.path.partition("?")[0]
        wire = next((each for end, each in WIRES.items() if path.endswith(end)), None)
        if wire is None:
            self._plain(404, '{"error":{"message":"no such page"}}', trouble)
            return
        script = self.server.loopback.script
        try:
            with self.server.loopback.lock:
                number, turn = script.next_turn(wire.decoded(body))
        except UserError as error:
            self._plain(400, json.dumps({"error": {"message": error.message, "code": "script"}}), trouble)
            return
        self.server.loopback.ended.wait(turn.delay)
        if turn.error is not None:
            failure = turn.error if isinstance(turn.error, Failure) else Failure(fault=turn.error)
            text = json.dumps({"error": {"message": failure.message}})
            self._plain(_STATUS.get(failure.fault, 503), text, trouble)
            return
        actions = script.build_actions(number, turn)
        if trouble.whole or not body.get("stream"):
            self._plain(200, json.dumps(wire.whole(turn, actions, usage=not trouble.no_usage)), trouble)
        else:
            self._stream(wire.events(turn, actions, body, usage=not trouble.no_usage), trouble)

    def _plain(self, status: int, text: str, trouble: Trouble) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if trouble.retry_after:
            self.send_header("Retry-After", trouble.retry_after)
        for name, value in trouble.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if trouble.cut_after is not None:
            self.wfile.write(content[: trouble.cut_after])
            self._reset()
            return
        self.wfile.write(content)
        if trouble.drop_after:
            self.close_connection = True

    def _stream(self, events: Iterator[str], trouble: Trouble) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in trouble.headers.items():
            self.send_header(name, value)
        self.end_headers()
        sent = 0
        for place, event in enumerate(events):
            if place == trouble.at and trouble.garbage:
                event = "data: {this is not JSON\n\n"
            if place == trouble.at and trouble.idle:
                self.server.loopback.ended.wait(trouble.idle)
            if place == trouble.at and trouble.error:
                self._chunk(f"data: {trouble.error}\n\n".encode())
                break
            content = event.encode()
            if trouble.cut_after is not None and sent + len(content) > trouble.cut_after:
                self._chunk(content[: trouble.cut_after - sent])
                self._reset()
                return
            sent += len(content)
            self.received.sent = sent  # before: who asked may look as soon as the last of it has come
            self._chunk(content)
        if trouble.cut_after == sent:
            self._reset()
            return
        self.wfile.write(b"0\r\n\r\n")
        if trouble.drop_after:
            self.close_connection = True

    def _chunk(self, content: bytes) -> None:
        if content:
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    def _reset(self) -> None:
        self.close_connection = True
        _reset(self.connection)


def _reset(connection: socket.socket) -> None:
    """Close so that the other side sees a reset, not an orderly end."""
    with suppress(OSError):  # closed already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """Serve as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--log", type=Path, help="append a JSON line of time stamps for each request")
    parser.add_argument("--trouble", action="append", default=[], type=json.loads)
    options = parser.parse_args()
    troubles = [Trouble(**each) if each else None for each in options.trouble]
    server = Loopback(options.script, troubles=troubles, keep=False, port=options.port, log=options.log)
    print(server.port, flush=True)
    with suppress(KeyboardInterrupt):  # how a person ends it
        server.serve()


if __name__ == "__main__":
    main()
