from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agent.model.http.http_client import HttpClient, WireError
from sandbox.errors import Fault, UserError
from tests.support.loopback import Loopback

BODY = b'{"messages":[]}'


def post(url: str, *, idle_timeout: float = 5.0) -> tuple[int, bytes]:
    """Status and body of one request, its connection closed."""

    async def posted() -> tuple[int, bytes]:
        client = HttpClient(url, connect_timeout=5.0, idle_timeout=idle_timeout)
        try:
            answer = await client.post({"Content-Type": "application/json"}, BODY)
            return answer.status, await answer.read()
        finally:
            client.close()

    return asyncio.run(posted())


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that hands its first connection to `serve`; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


def request(connection: socket.socket) -> bytes:
    """Read one request, all of it: closing with something unread would reset the connection."""
    data = b""
    while not data.endswith(b"\r\n\r\n" if data.startswith(b"CONNECT") else BODY):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError("the client closed the connection in the middle of its request")
        data += byte
    return data


@contextmanager
def proxy(seen: list[bytes]) -> Iterator[str]:
    """A real proxy for one connection: a tunnel, or one plain request; yields its URL."""

    def serve(connection: socket.socket) -> None:
        first = request(connection)
        seen.append(first)
        method, target, _ = first.split(b" ", 2)
        authority = target if method == b"CONNECT" else target.split(b"/")[2]
        host, _, port = authority.decode().rpartition(":")
        with socket.create_connection((host, int(port))) as upstream:
            if method == b"CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.sendall(first.replace(b"http://" + authority, b"", 1))
            back = threading.Thread(target=_pump, args=(upstream, connection))
            back.start()
            _pump(connection, upstream)
            back.join(10)

    with listening(serve) as port:
        yield f"http://someone:p%40ss@127.0.0.1:{port}"


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # either side has gone: the other is told by the closing of both
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for `localhost` that signs itself, its key in the same file."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, so there is no certificate to test with")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    files = [
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
    ]
    subprocess.run([*command.split(), *files], cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "cert.pem").read_text() + (folder / "key.pem").read_text())
    return both


@contextmanager
def https(certificate: Path) -> Iterator[int]:
    """A TLS server that answers one request; yields its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                request(secure)
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        except OSError:  # the client does not trust us, which a test is about
            pass

    with listening(serve) as port:
        yield port


def test_https_is_verified_and_a_stranger_is_not_tried_again(certificate: Path) -> None:
    with https(certificate) as port, pytest.raises(WireError, match="not trusted") as caught:
        post(f"https://localhost:{port}/v1")
    assert caught.value.lasting


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_certificate_named_in_the_environment_is_trusted(
    certificate: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificate))
    with https(certificate) as port:
        assert post(f"https://localhost:{port}/v1") == (200, b"secret")


def test_a_certificate_file_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UserError, match=r"SSL_CERT_FILE=.*none\.pem") as caught:
        post("https://localhost:1/v1")
    assert caught.value.fault is Fault.CONFIGURATION


def test_https_goes_through_the_proxy_as_a_tunnel(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with https(certificate) as port, proxy(seen) as url:
        monkeypatch.setenv("HTTPS_PROXY", url)
        assert post(f"https://localhost:{port}/v1") == (200, b"secret")
    assert seen[0].startswith(b"CONNECT localhost:%d " % port)
    assert b"Proxy-Authorization: Basic c29tZW9uZTpwQHNz" in seen[0]
    assert BODY not in seen[0]


def test_http_goes_through_the_proxy_as_a_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    with Loopback() as server, proxy(seen) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        status, body = post(server.url + "/chat/completions?v=1")
        assert (status, b'"ok"' in body) == (200, True)
        assert server.requests[0].path == "/v1/chat/completions?v=1"
    assert seen[0].startswith(b"POST " + server.url.encode() + b"/chat/completions?v=1 ")
    assert b"Proxy-Authorization: Basic c29tZW9uZTpwQHNz" in seen[0]


def test_no_proxy_excepts_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
    with Loopback() as server:
        assert post(server.url + "/chat/completions")[0] == 200


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("ftp://example.org/v1", "not an http:// or https:// URL"),
        ("localhost:8000/v1", "does not say how to reach it"),
        ("http://", "names no host"),
        ("http://example.org:port/v1", "cannot be read"),
        ("http://example.org/v 1", "characters that no address has"),
        ("http://example.org/v1\n", "characters that no address has"),
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str, what: str) -> None:
    with pytest.raises(UserError, match=what) as caught:
        HttpClient(url)
    assert caught.value.fault is Fault.CONFIGURATION
    assert repr(url) in caught.value.message
    assert caught.value.hint


def test_a_proxy_of_another_kind_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(UserError, match="socks5") as caught:
        HttpClient("https://example.org/v1")
    assert "NO_PROXY=example.org" in caught.value.hint


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "does not speak HTTP"),
        (b"", "without an answer"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(answer: bytes, reason: str) -> None:
    def serve(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(answer)

    with listening(serve) as port, pytest.raises(WireError, match=reason):
        post(f"http://127.0.0.1:{port}/v1")


def test_silence_ends_after_the_idle_time() -> None:
    with Loopback([{"delay": 3}]) as server, pytest.raises(WireError, match="in time"):
        post(server.url + "/chat/completions", idle_timeout=0.1)


def test_an_answer_without_length_is_read_to_the_end_of_its_connection() -> None:
    def serve(connection: socket.socket) -> None:
        request(connection)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nall of it")

    with listening(serve) as port:
        assert post(f"http://127.0.0.1:{port}/v1") == (200, b"all of it")


def test_a_host_that_does_not_exist_is_named() -> None:
    with pytest.raises(WireError, match=r"there is no host 'no\.such\.host\.invalid'"):
        post("http://no.such.host.invalid/v1")


def test_no_thread_is_left_behind_by_a_closed_client() -> None:
    with Loopback() as server:
        before = set(threading.enumerate())
        post(server.url + "/chat/completions")
        started = set(threading.enumerate()) - before
        for thread in [each for each in started if each.name == "model-connection"]:
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.slow
def test_a_server_that_is_faster_than_its_reader_has_to_wait() -> None:
    """What is not taken yet is bounded, whatever the length of the answer; and none of it is lost."""
    piece, pieces = bytes(64 << 10), 1200  # 75 MB
    sent: list[int] = [0]

    def serve(connection: socket.socket) -> None:
        request(connection)
        connection.settimeout(60)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
        for _ in range(pieces):
            connection.sendall(piece)
            sent[0] += 1

    async def read(url: str) -> tuple[int, int]:
        client = HttpClient(url, connect_timeout=5.0, idle_timeout=60.0)
        try:
            answer = await client.post({}, BODY)
            before = -1
            while sent[0] != before:  # until nothing more goes out
                before = sent[0]
                await asyncio.sleep(0.5)
            return before, len(await answer.read())
        finally:
            client.close()

    with listening(serve) as port:
        ahead, size = asyncio.run(read(f"http://127.0.0.1:{port}/v1"))
    assert ahead * len(piece) < 40 << 20
    assert size == pieces * len(piece)


@pytest.mark.slow
def test_a_client_that_is_closed_while_its_thread_waits_for_room_ends_the_thread() -> None:
    def serve(connection: socket.socket) -> None:
        request(connection)
        with suppress(OSError):  # the client hangs up
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + bytes(60 << 20))

    async def ask(url: str) -> None:
        client = HttpClient(url, connect_timeout=5.0, idle_timeout=60.0)
        await client.post({}, BODY)
        await asyncio.sleep(1)
        client.close()

    before = set(threading.enumerate())
    with listening(serve) as port:
        asyncio.run(ask(f"http://127.0.0.1:{port}/v1"))
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
            assert not thread.is_alive()
