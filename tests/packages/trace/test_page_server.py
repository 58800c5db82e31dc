"""The server of a page: at the loopback address, for its token and its own page; it tells what is new."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.trace.page.page_server import TracedSession, open_server
from tests.packages.trace.written_logs import Log

pytestmark = pytest.mark.slow

TOKEN = "t" * 43


class Served:
    """A log and the port at which it is serve_session."""

    def __init__(self, log: Log, port: int) -> None:
        self.log, self.port = log, port

    def ask(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        """Send a request; return status, body and headers of the answer."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        link.request("GET", path, headers=headers)
        answer = link.getresponse()
        body = answer.read().decode()
        link.close()
        return answer.status, body, dict(answer.getheaders())


@pytest.fixture
def serve_session(tmp_path: Path) -> Iterator[Served]:
    log = Log(tmp_path / "s1")
    log.prompt("mend it")
    server = open_server(TracedSession(log.folder), TOKEN)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Served(log, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_only_who_has_the_token_gets_the_page(serve_session: Served) -> None:
    assert serve_session.ask("/")[0] == 401
    assert serve_session.ask("/?token=wrong")[0] == 401
    assert serve_session.ask("/rows?since=", Authorization="Bearer é".encode().decode("latin-1"))[0] == 401
    status, body, headers = serve_session.ask(f"/?token={TOKEN}")
    assert status == 200
    assert "mend it" in body
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert serve_session.ask(f"/../../etc/passwd?token={TOKEN}")[0] == 404


def test_other_names_and_other_pages_are_refused(serve_session: Served) -> None:
    assert serve_session.ask(f"/?token={TOKEN}", Host="evil.example")[0] == 421
    assert serve_session.ask(f"/rows?token={TOKEN}", Origin="http://evil.example")[0] == 403
    assert (
        serve_session.ask(f"/rows?token={TOKEN}", Origin=f"http://127.0.0.1:{serve_session.port}")[0] == 200
    )


def test_what_is_new_is_told_once(serve_session: Served) -> None:
    def list_titles(known: int) -> tuple[list[str], int]:
        status, body, _ = serve_session.ask(f"/rows?since=s1:{known}", Authorization=f"Bearer {TOKEN}")
        assert status == 200
        found = json.loads(body)["sessions"]
        if not found:
            return [], known
        return [row[3] for _, row, _ in found[0]["changes"]], found[0]["about"]["revision"]

    _, known = list_titles(0)
    assert list_titles(known) == ([], known)
    serve_session.log.step("read", {"path": "a.py"}, "text")
    titles, later = list_titles(known)
    assert titles == ["read a.py"]
    assert later > known
    serve_session.log.end()
    assert list_titles(later)[0] == ["done (exit code 0)"]


def test_an_odd_address_and_a_browser_that_goes_away_print_nothing(
    serve_session: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(200):  # more than the socket takes before the client reads
        serve_session.log.step("shell", {"command": "cat big"}, "x" * 50_000)
    link = socket.create_connection(("127.0.0.1", serve_session.port), timeout=30)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed as by a kill
    link.sendall(f"GET /?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{serve_session.port}\r\n\r\n".encode())
    link.recv(100)
    link.close()
    with socket.create_connection(("127.0.0.1", serve_session.port), timeout=30) as link:
        link.sendall(b"GET http://[x HTTP/1.0\r\n\r\n")
        assert b" 400 " in link.recv(100)
    (serve_session.log.folder / "log.jsonl").unlink()
    with pytest.raises(http.client.RemoteDisconnected):
        serve_session.ask(f"/?token={TOKEN}")
    assert capsys.readouterr().err == ""
