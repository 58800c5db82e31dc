"""Over HTTP: every tool and revision by the SDK's client, and clients that nobody lets in."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.protocols.mcp_server import http_connection, http_guard
from cli.protocols.mcp_server.http_serving import bind_loopback, serve_http
from cli.protocols.mcp_server.token_file import read_token
from sandbox.errors import UserError
from tests.cli.protocols.mcp_server.serving import (
    REVISIONS,
    TOKEN,
    call_tool,
    check_tools,
    connect,
    drive_every_tool,
    open_http,
    open_server,
    read_text,
    run_client,
    serve_over_http,
    wait_until,
)
from tests.support.cli import call, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

MODERN = "2026-07-28"

FIX = call("edit", path="cart.py", old="prices[1:]", new="prices")
PUSH = call("shell", command="git push origin main")

HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_sdks_client_speaks_every_revision(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, reads, runs a task with progress and an approval."""
    model = script(tmp_path, [{"calls": [FIX, PUSH]}, {"text": "Done."}])
    told: list[str | None] = []
    asked: list[str] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    def fill(message: str) -> Mapping[str, Any]:
        asked.append(message)
        return {"answer": "reject"}

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            serve_over_http(server) as port,
            connect(open_http(port), revision, monkeypatch, fill) as client,
        ):
            assert client.protocol_version == revision
            assert len(await check_tools(client)) == 8
            assert "cart.py" in read_text(await call_tool(client, "map"))
            assert "cart.py" in str((await client.read_resource("patchwright://map")).contents[0])
            result = await client.call_tool("run", {"prompt": "mend the total"}, progress_callback=tell)
            assert read_text(result).startswith("Done.")

    run_client(work())
    assert any("edit cart.py" in (each or "") for each in told)
    assert len(asked) == (1 if revision >= "2025-06-18" else 0)
    assert "for price in prices:" in shop.read("cart.py")


@pytest.mark.slow
def test_every_tool_is_driven(shop: Repo, tmp_path: Path) -> None:
    model = script(tmp_path, [{"calls": [FIX]}, {"text": "Done."}])

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            serve_over_http(server) as port,
            connect(open_http(port), MODERN) as client,
        ):
            await drive_every_tool(client)

    run_client(work())
    assert shop.read("new.py") == "x = 1\n"


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_run_over_http_is_cancelled(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a notification, or by the end of the connection."""
    needs_confinement(shop.root)
    model = script(tmp_path, [{"calls": [call("shell", command="touch started; sleep 60")]}, {"text": "x"}])

    async def work() -> None:
        async with (
            open_server(shop.root, model=model) as server,
            serve_over_http(server) as port,
            connect(open_http(port), revision, monkeypatch) as client,
        ):
            running = asyncio.ensure_future(client.call_tool("run", {"prompt": "mend the total"}))
            await wait_until(lambda: (shop.root / "started").exists())
            running.cancel()
            await asyncio.wait([running])
            await wait_until(lambda: not server._calls._open)
            assert not (await call_tool(client, "map")).is_error

    run_client(work())


@pytest.mark.slow
def test_a_server_that_is_stopped_ends_its_runs_first(shop: Repo, tmp_path: Path) -> None:
    """Their clients still get a result, with the session that goes on."""
    needs_confinement(shop.root)
    model = script(tmp_path, [{"calls": [call("shell", command="touch started; sleep 60")]}, {"text": "x"}])

    async def work() -> None:
        stops: list[Callable[[], None]] = []
        listener = bind_loopback(0)
        async with open_server(shop.root, model=model) as server:
            serving = asyncio.ensure_future(serve_http(server, listener, TOKEN, stops.append))
            async with connect(open_http(listener.getsockname()[1]), MODERN) as client:
                await check_tools(client)  # the client checks the result by its schema
                running = asyncio.ensure_future(call_tool(client, "run", prompt="wait"))
                await wait_until(lambda: (shop.root / "started").exists())
                stops[0]()
                result = (await running).structured_content
                assert result["outcome"] == "interrupted"
                assert result["session"]
            await asyncio.wait_for(serving, 30)

    run_client(work())


def test_who_may_not_call_is_refused_once(shop: Repo) -> None:
    """Each refusal is one answer without a word of the repository, and the server goes on."""

    async def work() -> None:
        async with (
            open_server(shop.root) as server,
            serve_over_http(server) as port,
            httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
        ):

            async def post(expected: int, body: object = INITIALIZE, **headers: str | None) -> str:
                sent = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                present = {name: value for name, value in sent.items() if value is not None}
                answer = await client.post("/mcp", content=content, headers=present)
                assert answer.status_code == expected, answer.text
                assert len(answer.text) < 2000 or expected == 200
                return answer.text

            await post(401, Authorization=None)
            await post(401, Authorization="Bearer wrong")
            await post(401, Authorization=f"Bearer {TOKEN}x")
            await post(401, Authorization=f"Basic {TOKEN}")
            await post(401, Authorization=None, Host=f"127.0.0.1:{port}")
            await post(421, Host="attacker.example")
            await post(421, Host=f"127.0.0.1.attacker.example:{port}")
            await post(421, Host="127.0.0.1")
            await post(421, Host=f"127.0.0.1:{port}@attacker.example")
            for origin in (
                "http://attacker.example",
                "null",
                f"https://127.0.0.1:{port}",
                "http://localhost:1",
            ):
                await post(403, Origin=origin)
            await post(413, body=b"x" * (http_guard.MOST_BYTES + 1))
            await post(400, Content_Type="text/plain")
            await post(406, Accept="text/html")
            await post(400, body=b"{")
            await post(400, body=[INITIALIZE])
            await post(404, Mcp_Session_Id="nobody")
            for method in ("GET", "DELETE", "PUT", "OPTIONS"):
                answer = await client.request(method, "/mcp", headers={"Origin": "http://attacker.example"})
                assert answer.status_code == 403
                answer = await client.request(method, "/mcp")
                assert answer.status_code == 401
            assert (await client.get("/", headers=HEADERS)).status_code == 404
            assert "patchwright" in await post(200)
            assert "patchwright" in await post(
                200, Origin=f"http://localhost:{port}", Host=f"localhost:{port}"
            )

    run_client(work())


def test_floods_and_half_requests_end(shop: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends too much, or never all of it, loses its connection; the others are served meanwhile."""
    monkeypatch.setattr(http_connection, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(http_connection, "MOST_CONNECTIONS", 16)
    monkeypatch.setattr(http_guard, "BODY_SECONDS", 1.0)

    def send_raw(port: int, content: bytes) -> tuple[bytes, float]:
        """Send bytes and return what comes back until the connection is closed, and after how many seconds."""
        started = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            received = b""
            try:
                connection.sendall(content)
                while piece := connection.recv(65536):
                    received += piece
            except ConnectionError:  # it was reset
                pass
            return received, time.monotonic() - started

    def post_head(*more: str) -> bytes:
        lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1:{port}", *more, "", ""]
        return "\r\n".join(lines).encode()

    async def work() -> None:
        async with open_server(shop.root) as server, serve_over_http(server) as port:

            async def send(content: bytes) -> tuple[bytes, float]:
                return await asyncio.to_thread(send_raw, port, content.replace(b"{port}", str(port).encode()))

            headers = [f"{name}: {value}" for name, value in HEADERS.items()]
            half_head, silent, huge, endless, half_body, garbage = await asyncio.gather(
                send(b"POST /mcp HT"),
                send(b""),
                send(post_head("Content-Length: 100000000") + b"x" * 1_000_000),
                send(post_head(*headers, "Transfer-Encoding: chunked") + b"100000\r\n" + b"x" * 1_048_576),
                send(post_head(*headers, "Content-Length: 1000") + b"{"),
                send(b"\x16\x03\x01\x02\x00\x01\x00" + b"\x00" * 100),
            )
            assert half_head[0] == silent[0] == b""
            assert max(half_head[1], silent[1]) < 10
            assert huge[0].startswith(b"HTTP/1.1 401") or huge[0] == b""  # refused before it is read
            assert endless[0].startswith(b"HTTP/1.1 408")
            assert half_body[0].startswith(b"HTTP/1.1 408")
            assert garbage[0].startswith(b"HTTP/1.1 400")
            # more connections than are kept: those that wait longest go
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
            async with connect(open_http(port), MODERN) as client:
                results = await asyncio.gather(*(call_tool(client, "map") for _ in range(10)))
                assert not any(each.is_error for each in results)
            for _, writer in idle:
                writer.close()

    run_client(work())


def test_a_port_that_is_taken_is_an_error() -> None:
    with bind_loopback(0) as taken, pytest.raises(UserError, match="cannot listen at port"):
        bind_loopback(taken.getsockname()[1])


def test_the_token_is_for_its_user_alone(tmp_path: Path) -> None:
    made = read_token(tmp_path / "token")
    assert len(made) > 40
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert read_token(tmp_path / "token") == made
    (tmp_path / "token").chmod(0o640)
    with pytest.raises(UserError, match="open to others"):
        read_token(tmp_path / "token")
    for content in ("", "short", "a token with spaces in it, long enough", "ü" * 40, "x" * 10_000):
        file = tmp_path / "bad"
        file.write_text(content, "utf-8")
        file.chmod(0o600)
        with pytest.raises(UserError):
            read_token(file)
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for path in (tmp_path / "link", tmp_path / "pipe", tmp_path / "folder", tmp_path / "missing" / "token"):
        with pytest.raises(UserError):
            read_token(path)
