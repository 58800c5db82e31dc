"""A server of one page at the loopback address, for who knows its token: the page follows a session that runs."""

from __future__ import annotations

import hmac
import json
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from packages.trace.diagnosis import diagnose
from packages.trace.page.page import build_policy, describe_trace, list_changes, render_page
from packages.trace.rows.traced_sessions import read_new_children, read_traces

IDLE_SECONDS = 10.0
"""Time in which a client has to send its request."""


class TracedSession:
    """The traces of a session that runs, read further at each question."""

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self.traces = read_traces(folder)

    def render(self) -> bytes:
        """Return the page as it is now."""
        with self._lock:
            self._read_on()
            return render_page(self.traces, live=True)

    def list_news(self, known: dict[str, int]) -> bytes:
        """Return the rows that are new to a page. known: revision of each session that it has"""
        with self._lock:
            self._read_on()
            diagnosis = (
                diagnose(self.traces)
                if any(each.revision > known.get(each.id, -1) for each in self.traces)
                else None
            )
            found = [
                {
                    "about": describe_trace(each, diagnosis),
                    "changes": list_changes(each, known.get(each.id, 0)),
                }
                for each in self.traces
                if each.revision > known.get(each.id, -1)
            ]
        return json.dumps({"sessions": found}, ensure_ascii=True, allow_nan=False).encode("ascii")

    def _read_on(self) -> None:
        for each in self.traces:
            each.read_new_lines()
        self.traces += read_new_children(self.traces)


def open_server(session: TracedSession, token: str, port: int = 0) -> ThreadingHTTPServer:
    """Return a server at 127.0.0.1. port: 0 for any free one. Raises OSError."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.session, server.token = session, token  # type: ignore[attr-defined]  # read by the handler
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let pass that a browser closed its page, or that the session was removed; all else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers `/` with the page and `/rows` with what is new."""

    timeout = IDLE_SECONDS
    server_version, sys_version = "patchwright", ""

    def do_GET(self) -> None:
        """Answer a request of a client that has the token, at our own name, from our own page."""
        server: Any = self.server
        try:
            address = urlsplit(self.path)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        question = parse_qs(address.query)
        names = {f"127.0.0.1:{server.server_port}", f"localhost:{server.server_port}"}
        origin = self.headers.get("Origin")
        given = (
            self.headers.get("Authorization", "").removeprefix("Bearer ") or question.get("token", [""])[0]
        )
        if self.headers.get("Host", "").lower() not in names:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        elif origin is not None and origin.lower() not in {f"http://{each}" for each in names}:
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not hmac.compare_digest(given.encode(), server.token.encode()):
            self._refuse(HTTPStatus.UNAUTHORIZED)
        elif address.path == "/":
            self._send(server.session.render(), "text/html; charset=utf-8")
        elif address.path == "/rows":
            known = _parse_known(question.get("since", [""])[0])
            self._send(server.session.list_news(known), "application/json")
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *values: object) -> None:
        """Write nothing: an address holds the token."""

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": build_policy(live=True) + "; frame-ancestors 'none'",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(f"{status.phrase}\n".encode(), "text/plain; charset=utf-8", status)


def _parse_known(text: str) -> dict[str, int]:
    """Parse "ID:REVISION,…"."""
    found = {}
    for each in text.split(","):
        name, _, revision = each.rpartition(":")
        if name and revision.isascii() and revision.isdigit() and len(revision) < 12:
            found[name] = int(revision)
    return found
