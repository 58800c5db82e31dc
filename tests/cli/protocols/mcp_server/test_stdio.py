"""Over standard streams: nothing but the protocol on them, bad clients, a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from cli.protocols.acp import stdio_transport
from cli.protocols.mcp_server.stdio_serving import serve_stdio
from tests.cli.protocols.mcp_server.serving import (
    REVISIONS,
    call_tool,
    check_tools,
    connect,
    drive_every_tool,
    open_process,
    open_server,
    read_text,
    run_client,
    wait_until,
)
from tests.support.cli import PATCHWRIGHT, call, environment, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

MODERN = "2026-07-28"

FIX = call("edit", path="cart.py", old="prices[1:]", new="prices")
PUSH = call("shell", command="git push origin main")


class Lines:
    """The client's side of a server's streams, line by line."""

    def __init__(self, source: int, sink: int) -> None:
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._read_lines, source))

    def _read_lines(self, source: int) -> None:
        with os.fdopen(source, "rb") as file:
            for line in file:
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0"
                self._loop.call_soon_threadsafe(self._received.put_nowait, message)

    async def send(self, *messages: object) -> None:
        """Send messages, or bytes as they are."""
        content = b"".join(
            each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages
        )
        await asyncio.to_thread(self._write, content)

    def _write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._sink, rest) :]

    async def receive(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._received.get(), 60)

    async def request(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return the answer to it."""
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (message := await self.receive()).get("id") != number:
            pass
        return message

    async def initialize(self, revision: str) -> dict[str, Any]:
        hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = await self.request(0, "initialize", **hello)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return dict(answer["result"])

    async def close(self) -> None:
        os.close(self._sink)
        await self._reading


@asynccontextmanager
async def serve_lines(root: Path, **flags: Any) -> AsyncIterator[Lines]:
    """Serve over pipes in this process; the server ends with its input."""
    client_source, server_sink = os.pipe()
    server_source, client_sink = os.pipe()
    async with open_server(root, **flags) as server:
        serving = asyncio.ensure_future(serve_stdio(server, server_source, server_sink))
        lines = Lines(client_source, client_sink)
        yield lines
        os.close(client_sink)
        await asyncio.wait_for(serving, 30)
        os.close(server_sink)
        await lines._reading


@pytest.mark.parametrize("revision", [*REVISIONS[:-1], "1999-01-01"])
def test_every_revision_of_the_handshake_is_spoken(shop: Repo, revision: str) -> None:
    async def work() -> None:
        async with serve_lines(shop.root) as lines:
            agreed = await lines.initialize(revision)
            assert agreed["protocolVersion"] == (revision if revision in REVISIONS else REVISIONS[-2])
            assert agreed["serverInfo"]["name"] == "patchwright"
            assert (await lines.request(1, "ping"))["result"] == {}
            listed = await lines.request(2, "tools/list")
            assert len(listed["result"]["tools"]) == 8
            shown = await lines.request(3, "tools/call", name="map", arguments={})
            assert "cart.py" in shown["result"]["content"][0]["text"]
            assert (await lines.request(4, "prompts/list"))["error"]["code"] == -32601

    run_client(work())


def test_bad_lines_are_answered_and_the_server_goes_on(
    shop: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_transport, "LONGEST", 1_000_000)
    bad: Mapping[bytes, int] = {
        b"{\n": -32700,
        b"\xff\xfe\n": -32700,
        b"[" * 200_000 + b"\n": -32700,
        b"x" * 100_000_000 + b"\n": -32700,
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n': -32600,
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n': -32600,
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n': -32600,
        b'{"jsonrpc":"2.0","id":1}\n': -32600,
        b'{"jsonrpc":"2.0","id":1,"method":3}\n': -32600,
        b'{"jsonrpc":"2.0","id":1,"method":"no/such"}\n': -32601,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody"}}\n': -32602,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":[]}}\n': -32602,
    }

    async def work() -> None:
        async with serve_lines(shop.root) as lines:
            await lines.initialize("2025-11-25")
            for line, code in bad.items():
                await lines.send(line)
                answer = await lines.receive()
                assert answer["error"]["code"] == code, line[:80]
                assert len(json.dumps(answer)) < 1000
            await lines.send(*({"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(100, 3100)))
            answered = {(await lines.receive())["id"] for _ in range(3000)}
            assert answered == set(range(100, 3100))
            assert "result" in await lines.request(9, "tools/list")
            await lines.send(b'{"jsonrpc":"2.0","id":10,"method":"pi')  # half a request, then the end

    run_client(work())
    notices = capsys.readouterr().err.splitlines()
    assert len(notices) <= len(bad) + 1
    assert all(each.startswith("patchwright: mcp: ") for each in notices)


def test_a_client_that_leaves_loses_nothing(shop: Repo, tmp_path: Path) -> None:
    """The end of the input ends a run; its log is complete."""
    needs_confinement(shop.root)
    model = script(tmp_path, [{"calls": [call("shell", command="touch started; sleep 60")]}, {"text": "x"}])

    async def work() -> None:
        async with serve_lines(shop.root, model=model) as lines:
            await lines.initialize("2025-11-25")
            task = {"name": "run", "arguments": {"prompt": "wait"}}
            await lines.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": task})
            await wait_until(lambda: (shop.root / "started").exists())

    run_client(work())
    sessions = Home.from_environment().get_project_folder(shop.root) / "sessions"
    [log] = sessions.glob("*/log.jsonl")
    assert '"outcome":"interrupted"' in log.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_the_sdks_client_drives_a_process(
    shop: Repo, tmp_path: Path, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(tmp_path, [{"calls": [FIX, PUSH]}, {"text": "Done."}])
    asked: list[str] = []

    def fill(message: str) -> Mapping[str, Any]:
        asked.append(message)
        return {"answer": "reject"}

    async def work() -> None:
        async with connect(open_process(shop.root, "--model", model), revision, monkeypatch, fill) as client:
            assert client.protocol_version == revision
            assert len(await check_tools(client)) == 8
            if revision == MODERN:
                await drive_every_tool(client)
            else:
                result = await call_tool(client, "run", prompt="mend the total")
                assert read_text(result).startswith("Done.")

    run_client(work())
    assert len(asked) == 1
    assert "for price in prices:" in shop.read("cart.py")


@pytest.mark.slow
def test_a_killed_server_leaves_a_session_that_goes_on(shop: Repo, tmp_path: Path) -> None:
    needs_confinement(shop.root)
    turns = [{"calls": [FIX]}, {"calls": [call("shell", command="touch started; sleep 60")]}]
    model = script(tmp_path, [*turns, {"text": "never"}])
    server = subprocess.Popen(
        [*PATCHWRIGHT, "mcp", "serve", "--model", model],
        cwd=shop.root,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert server.stdin is not None
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    task = {"name": "run", "arguments": {"prompt": "mend the total"}}
    for message in (
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": task},
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    asyncio.run(wait_until(lambda: (shop.root / "started").exists()))
    server.send_signal(signal.SIGKILL)
    out, _ = server.communicate(timeout=30)
    assert [json.loads(line)["jsonrpc"] for line in out.splitlines()] == ["2.0"] * len(out.splitlines())
    [session] = (Home.from_environment().get_project_folder(shop.root) / "sessions").iterdir()

    async def work() -> None:
        more = script(tmp_path, [{"text": "Done after all."}], "more.json")
        async with open_server(shop.root, model=more) as second, connect(second.sdk, MODERN) as client:
            result = await call_tool(client, "run", session=session.name)
            assert read_text(result).startswith("Done after all.")

    run_client(work())
    assert "for price in prices:" in shop.read("cart.py")


@pytest.mark.slow
def test_mistakes_of_the_command_line_are_one_line(shop: Repo, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.write_text("x" * 40)
    shared.chmod(0o644)
    for options, code, error in (
        (["-C", "no-such"], 2, "patchwright: no such folder: 'no-such'"),
        (["--port", "80"], 2, "patchwright: invalid value: --port and --token-file need --http"),
        (["--http", "--token-file", str(tmp_path)], 2, f"patchwright: cannot read '{tmp_path}'"),
        (["--http", "--token-file", str(shared)], 6, "patchwright: the file of the token is open to others"),
    ):
        done = run("mcp", "serve", *options, cwd=shop.root)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith(error)
        assert len(done.err.splitlines()) <= 2
    done = run("mcp", "serve", cwd=shop.root)  # the input is empty
    assert (done.code, done.out, done.err) == (0, "", "")
