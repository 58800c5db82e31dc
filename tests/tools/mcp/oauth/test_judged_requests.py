"""A request of a sign-in goes to the address that was judged, whatever its name leads to a moment later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from tools.mcp.oauth.addresses import Resolve
from tools.mcp.oauth.judged_requests import JudgedRequests
from tools.mcp.oauth.sign_in_error import SignInError, UnreachableError


class Recorder(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.headers["Host"], body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextmanager
def serve(address: str, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer((address, port), Recorder)
    server.seen = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(*answers: Sequence[str]) -> Resolve:
    """A name server that answers something else each time."""
    left = list(answers)

    async def resolve(address: str) -> Sequence[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve


def send(port: int, resolve: Resolve) -> httpx2.Response:
    request = httpx2.Request("POST", f"http://localhost:{port}/token", data={"code": "abc"})
    return asyncio.run(JudgedRequests("http://127.0.0.1:1/", resolve).send(request))


@pytest.mark.parametrize(
    "first", [["127.0.0.5"], ["127.0.0.9", "127.0.0.5"], ["::1", "127.0.0.9", "127.0.0.5"]]
)
def test_a_request_is_sent_to_a_judged_address(first: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    with serve("127.0.0.5") as judged:
        port = judged.server_address[1]
        with serve("127.0.0.1", port) as other:  # where the system's own resolver leads
            assert send(port, answer(first, ["127.0.0.1"])).status_code == 200
        assert judged.seen == [(f"localhost:{port}", b"code=abc")]  # type: ignore[attr-defined]
        assert other.seen == []  # type: ignore[attr-defined]


def test_a_name_that_leads_nowhere_yet_is_not_asked_for_again() -> None:
    with pytest.raises(UnreachableError, match="could not be resolved"):
        send(1, answer([]))


@pytest.mark.parametrize("private", ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "fd00::1"])
def test_a_private_address_among_public_ones_is_refused(private: str) -> None:
    requests = JudgedRequests(
        "https://public.example/", answer(["93.184.216.34", private], ["93.184.216.34"])
    )
    with pytest.raises(SignInError, match="private network"):
        asyncio.run(requests.send(httpx2.Request("GET", "https://auth.example/metadata")))
