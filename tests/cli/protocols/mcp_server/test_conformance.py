"""The protocol's own conformance suite, where it is installed: `npm install @modelcontextprotocol/conformance`.

CONFORMANCE names the folder with its `node_modules`; it needs Node 22.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from cli.protocols.mcp_server.http_serving import bind_loopback, build_app
from cli.protocols.mcp_server.offered.tool_table import TOOLS
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.errors import Fault, UserError
from tests.cli.protocols.mcp_server.serving import TOKEN, open_server, run_client
from tests.support.cli import CHECKOUT
from tests.support.repo import Repo

FOLDER = Path(os.environ.get("CONFORMANCE", "/nonexistent"))

SUITE = FOLDER / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

REPORT = CHECKOUT / "benchmarks/results/2026-11-26-mcp-conformance.md"

APPLYING = re.findall(r"^\| server \| `([a-z0-9-]+)` \| passes", REPORT.read_text("utf-8"), re.M)
"""Scenarios that apply, by the report."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SUITE.exists(), reason="the conformance suite is not installed"),
]


class ElicitationArguments(Arguments):
    message: str


class Nothing(BaseModel):
    """The suite looks at texts only."""


async def return_text(arguments: Arguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    return ToolResult(text="This is a simple text response for testing.", data=Nothing())


async def fail(arguments: Arguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    raise UserError(Fault.USAGE, "This tool intentionally returns an error for testing")


async def report(arguments: Arguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    for each in ("begin", "half", "end"):
        call.report(each)
    return ToolResult(text="done", data=Nothing())


async def ask(arguments: ElicitationArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    fields = {name: {"type": "string"} for name in ("username", "email")}
    form = {"type": "object", "properties": fields, "required": list(fields)}
    answer = await call.ask(arguments.message, form)
    assert answer == {"username": "testuser", "email": "test@example.com"}
    return ToolResult(text=f"User response: {answer}", data=Nothing())


def make_tool(name: str, run: Any, arguments: type[Arguments] = Arguments) -> ServedTool:
    return ServedTool(name=name, title=name, description=name, arguments=arguments, result=Nothing, run=run)


SPECIAL = [
    make_tool("test_simple_text", return_text),
    make_tool("test_error_handling", fail),
    make_tool("test_tool_with_progress", report),
    make_tool("test_elicitation", ask, ElicitationArguments),
]
"""Tools that scenarios of the suite call: their results, progress and questions take the way of our own."""


def add_token(app: ASGIApp) -> ASGIApp:
    """Add the token to each request: the suite's client has none. All else reaches the server as it was sent."""

    async def pass_on(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            authorization = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = {**scope, "headers": [*scope["headers"], authorization]}
        await app(scope, receive, send)

    return pass_on


@asynccontextmanager
async def serve_for_suite(root: Path) -> AsyncIterator[int]:
    listener = bind_loopback(0)
    port = listener.getsockname()[1]
    tools = {each.name: each for each in (*TOOLS, *SPECIAL)}
    async with open_server(root, tools=tools) as server:
        app = add_token(build_app(server, token=TOKEN, port=port))
        web = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))
        serving = asyncio.ensure_future(web._serve([listener]))
        try:
            yield port
        finally:
            web.should_exit = True
            await serving


async def run_scenario(port: int, scenario: str, output: Path) -> dict[str, list[str]]:
    """Run a scenario; return the descriptions of its checks by their status."""
    node = next(FOLDER.glob("node_modules/node*/bin/node"))
    process = await asyncio.create_subprocess_exec(
        str(node),
        str(SUITE),
        "server",
        "--url",
        f"http://127.0.0.1:{port}/mcp",
        "--scenario",
        scenario,
        "-o",
        str(output),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    checks = [json.loads(each.read_text("utf-8")) for each in output.glob("*/checks.json")]
    assert checks, out.decode()
    found: dict[str, list[str]] = {}
    for check in checks[0]:
        found.setdefault(check["status"], []).append(check.get("errorMessage") or check["description"])
    return found


@pytest.mark.parametrize("scenario", APPLYING)
def test_a_scenario_that_applies_passes(shop: Repo, tmp_path: Path, scenario: str) -> None:
    async def work() -> None:
        async with serve_for_suite(shop.root) as port:
            found = await run_scenario(port, scenario, tmp_path / "out")
            assert found.get("FAILURE", []) == []
            assert found["SUCCESS"]

    run_client(work())
