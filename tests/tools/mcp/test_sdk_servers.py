"""Servers of the official SDK, of each revision of the protocol, over both transports."""

from __future__ import annotations

import asyncio
import site
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.process.command_line import CommandLine
from tests.support.cli import CHECKOUT
from tests.support.mcp_sdk_server import MODERN, REVISIONS, RevisionApp, serve_app
from tests.tools.workspaces import workspace
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.mcp.server_tools import McpServers

pytestmark = pytest.mark.slow

T = TypeVar("T")

PYTHON = str(Path(sys.executable).resolve())
PACKAGES = Path(site.getsitepackages()[0])


@pytest.fixture(scope="module")
def app() -> RevisionApp:
    return RevisionApp(json_response=False)


@pytest.fixture(scope="module")
def address(app: RevisionApp) -> Iterator[str]:
    with serve_app(app) as address:
        yield address


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    return workspace(tmp_path, {"server.py": (CHECKOUT / "tests/support/mcp_sdk_server.py").read_text()})


def play(servers: McpServers, story: Callable[[McpServers], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            assert await servers.start_all() == []
            return await story(servers)
        finally:
            await servers.close()

    return asyncio.run(run())


async def call(servers: McpServers, at: Workspace, name: str, **arguments: object) -> str:
    tool = next(each for each in servers.tools if each.name == f"mcp__sums__{name}")
    return (await tool.run(**tool.validate(arguments), at=at)).text


async def use_everything(servers: McpServers, at: Workspace, revision: str) -> None:
    """Use each feature once; the person chooses red."""

    async def answer(question: str, options: object) -> str:
        return "red" if "Colour" in question else ""

    lines: list[str] = []
    at.progress = lines.append
    has_elicitation = revision >= "2025-06-18"
    assert '<mcp-result server="sums">\n42\n' in await call(servers, at, "add", a=2, b=40)
    assert "three" in await call(servers, at, "count")
    assert lines == ["at 1 (1 of 3)", "at 2 (2 of 3)", "at 3 (3 of 3)"]
    assert at.root.as_uri() in await call(servers, at, "roots")
    with pytest.raises(ToolFailure, match=r"has no answer:\n.*\nit refused|ampling"):
        raise ToolFailure(await call(servers, at, "poem"))
    refusal = "declin" if has_elicitation else "Method not found"
    with pytest.raises(ToolFailure, match=refusal):
        raise ToolFailure(await call(servers, at, "paint"))
    servers.let_ask(answer)
    if has_elicitation:
        assert "red in 1" in await call(servers, at, "paint")
    server = servers.get("sums")
    assert server is not None
    assert [each.uri for each in server.resources] == ["notes://today"]
    assert "buy milk" in await server.read_resource("notes://today")
    assert await server.read_resource("notes://monday") == "notes of monday"
    assert [(each.name, dict(each.arguments)) for each in server.prompts] == [
        ("review", {"path": True, "depth": False})
    ]
    assert await server.get_prompt("review", {"path": "a.py"}) == "Review a.py, short."


@pytest.mark.parametrize("revision", REVISIONS)
def test_everything_works_over_http(revision: str, address: str, at: Workspace, app: RevisionApp) -> None:
    app.heads.clear()
    servers = McpServers(at, {"sums": f"{address}/{revision}/mcp"})
    play(servers, lambda _: use_everything(servers, at, revision))
    versions = {each["mcp-protocol-version"] for each in app.heads if "mcp-protocol-version" in each}
    assert revision in versions
    if revision == MODERN:
        named = {(each["mcp-method"], each.get("mcp-name")) for each in app.heads if "mcp-method" in each}
        assert {
            ("tools/call", "add"),
            ("resources/read", "notes://today"),
            ("prompts/get", "review"),
        } <= named


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-2], MODERN])
def test_everything_works_with_a_program(revision: str, at: Workspace) -> None:
    line = CommandLine(
        argv=(PYTHON, "server.py", revision), environment={"PYTHONPATH": str(PACKAGES)}, readable=(PACKAGES,)
    )
    servers = McpServers(at, {}, {"sums": line})
    play(servers, lambda _: use_everything(servers, at, revision))


@pytest.mark.parametrize("revision", ["2025-06-18", MODERN])
def test_a_cancelled_call_is_cancelled_at_the_server(
    revision: str, address: str, at: Workspace, app: RevisionApp
) -> None:
    async def story(servers: McpServers) -> None:
        app.seen.clear()
        calling = asyncio.create_task(call(servers, at, "wait"))
        await wait_until(lambda: "waiting" in app.seen)
        calling.cancel()
        await wait_until(lambda: "cancelled" in app.seen)
        assert calling.cancelled()
        assert "42" in await call(servers, at, "add", a=2, b=40)  # the connection goes on

    play(McpServers(at, {"sums": f"{address}/{revision}/mcp"}), story)


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_a_changed_tool_is_not_called_and_new_ones_are_offered(revision: str, at: Workspace) -> None:
    async def story(servers: McpServers) -> None:
        server = servers.get("sums")
        assert server is not None
        add = next(each for each in servers.tools if each.name == "mcp__sums__add")
        assert "changed" in await call(servers, at, "change")
        await wait_until(lambda: "fresh" in [each.name for each in server.tools])
        with pytest.raises(ToolFailure, match="add is another tool now"):
            await add.run(**add.validate({"a": 1, "b": 2}), at=at)
        assert "new" in await call(servers, at, "fresh")

    with serve_app(RevisionApp(json_response=revision == MODERN)) as address:
        play(McpServers(at, {"sums": f"{address}/{revision}/mcp"}), story)


def test_an_address_that_a_call_needs_is_shown_and_the_call_made_again(
    address: str, at: Workspace, app: RevisionApp
) -> None:
    answers = ["no", "I have opened it"]
    asked: list[str] = []

    async def answer(question: str, options: object) -> str:
        asked.append(question)
        return answers.pop(0)

    async def story(servers: McpServers) -> None:
        app.seen.clear()
        with pytest.raises(ToolFailure, match="it refused: URL elicitation required"):
            await call(servers, at, "pay")  # nobody is there
        servers.let_ask(answer)
        app.seen.clear()
        with pytest.raises(ToolFailure, match="it refused: URL elicitation required"):
            await call(servers, at, "pay")
        app.seen.clear()
        assert "paid" in await call(servers, at, "pay")

    play(McpServers(at, {"sums": f"{address}/2025-11-25/mcp"}), story)
    shown = "The MCP server sums asks you to open this address: Pay first\nhttps://pay.example/1"
    assert asked == [shown, shown]


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)
