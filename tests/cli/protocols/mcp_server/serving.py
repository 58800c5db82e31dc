"""Servers for tests: in this process, over HTTP in this process, and as a process of its own; the SDK's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp.client.session
import mcp_types
import pytest
from jsonschema import Draft202012Validator
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from agent.app_dirs import Home
from cli.protocols.mcp_server.http_serving import PATH, bind_loopback, serve_http
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import ServedTool
from cli.protocols.mcp_server.server import RepositoryServer
from tests.support.cli import PATCHWRIGHT, environment

TOKEN = "a-token-of-the-tests-0123456789"

REVISIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
"""All revisions of the protocol that the SDK's server speaks."""

Fill = Callable[[str], Mapping[str, Any] | None]
"""Answers a form by its message; None declines it."""


def run_client(work: Coroutine[Any, Any, None]) -> None:
    """Run a test's client in an event loop of its own."""
    asyncio.run(work)


@asynccontextmanager
async def open_server(
    root: Path,
    *,
    reads_only: bool = False,
    may_commit: bool = True,
    tools: Mapping[str, ServedTool] | None = None,
    **flags: Any,
) -> AsyncIterator[RepositoryServer]:
    """Open a server in this process."""
    home = Home.from_environment()
    server = RepositoryServer(
        ServedRepository(root, home, flags, reads_only=reads_only, may_commit=may_commit), tools
    )
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def serve_over_http(server: RepositoryServer) -> AsyncIterator[int]:
    """Serve over HTTP; yields the port."""
    listener = bind_loopback(0)
    stops: list[Callable[[], None]] = []
    serving = asyncio.ensure_future(serve_http(server, listener, TOKEN, stops.append))
    try:
        yield listener.getsockname()[1]
    finally:
        [stop] = stops
        stop()
        await serving


def connect(
    target: object, revision: str, monkeypatch: pytest.MonkeyPatch | None = None, fill: Fill | None = None
) -> Client:
    """Return the SDK's client for a revision. fill: answers forms; None: the client declares that it has none"""
    is_modern = revision in MODERN_PROTOCOL_VERSIONS
    if not is_modern and monkeypatch is not None:  # the client offers only its newest by itself
        monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", revision)

    async def answer(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        assert fill is not None
        content = fill(params.message)
        if content is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content=dict(content))

    return Client(
        target,  # type: ignore[arg-type]
        mode=revision if is_modern else "legacy",
        elicitation_callback=answer if fill is not None else None,
    )


@asynccontextmanager
async def open_http(port: int, token: str = TOKEN) -> AsyncIterator[Any]:
    """Open the SDK's transport to a server over HTTP."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
        streamable_http_client(f"http://127.0.0.1:{port}{PATH}", http_client=client) as streams,
    ):
        yield streams


def open_process(root: Path, *options: str) -> AbstractAsyncContextManager[Any]:
    """Return the SDK's transport to a server in a process of its own."""
    program, *words = PATCHWRIGHT
    parameters = StdioServerParameters(
        command=program,
        args=[*words, "mcp", "serve", "-C", str(root), *options],
        env=environment(),
        cwd=str(root),
    )
    return stdio_client(parameters)


async def check_tools(client: Client) -> Mapping[str, mcp_types.Tool]:
    """Return the tools by name; their schemas are valid ones."""
    tools = (await client.list_tools()).tools
    for each in tools:
        Draft202012Validator.check_schema(each.input_schema)
        assert each.output_schema is not None
        Draft202012Validator.check_schema(each.output_schema)
    return {each.name: each for each in tools}


async def call_tool(client: Client, name: str, **arguments: Any) -> mcp_types.CallToolResult:
    """Call a tool; what it returns as structure fits its schema (the SDK's client checks that, too)."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, mcp_types.CallToolResult)
    return result


async def drive_every_tool(client: Client) -> None:
    """Call each tool in a repository whose tests fail, with a model whose run ends with "Done."."""
    for name, arguments in (
        ("map", {}),
        ("symbols", {"query": "outline", "target": "cart.py"}),
        ("localize", {"text": "the total of the cart"}),
        ("review", {}),
        ("run_tests", {}),
        ("repair", {"budget": 30}),
        ("apply", {"patch": "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** End Patch\n"}),
        ("run", {"prompt": "mend the total"}),
    ):
        result = await call_tool(client, name, **arguments)
        assert not result.is_error, name
    assert read_text(result).startswith("Done.")


def read_text(result: mcp_types.CallToolResult) -> str:
    """Return the text of a result."""
    [content] = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text


async def wait_until(
    is_so: Callable[[], bool] | Callable[[], Awaitable[bool]], seconds: float = 60.0
) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not is_so():
            await asyncio.sleep(0.01)
