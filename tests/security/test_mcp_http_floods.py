"""MCP servers over HTTP that flood, stall, lie and redirect: one line each, and the honest one goes on answering."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.secrets.redaction import MARKER, redact
from tests.security.mcp_http_flood import CALLS, FIRST, LISTS, HostileServers, serve_attacks
from tests.security.test_mcp_floods import MOST_MEMORY, ask, measure_memory
from tests.tools.workspaces import workspace
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.mcp.server_settings import McpServerSettings
from tools.mcp.server_tools import McpServers

pytestmark = pytest.mark.slow

KEY = "k3y-4vTq8Zr1Lw6Nc0Bx"


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServers]:
    with serve_attacks() as hostile:
        yield hostile


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    return workspace(tmp_path, {})


STARTS = {
    "moved": r"it refused: Redirect to http://127.0.0.1:9/mcp not followed",
    "moved by 302": r"it refused: Redirect to http://127.0.0.1:9/mcp not followed",
    "unauthorized": r"run: patchwright mcp login unauthorized$",
    "broken": r"it refused: status 503 of HTTP",
    "100 MB": r"it refused: .*more than 16 MiB",
    "an event of 100 MB": r"it closed the connection|SSE stream failed: .*limit",
    "events": r"it sent [\d,]+ (lines|MiB) within 10 s",
    "comments": r"it sent [\d,]+ (lines|MiB) within 10 s",
    "a bomb": r"it sent compressed content, which was not asked for",
    "hangs": r"it told no tools within 6 s",
    "closes": r"SSE stream ended|it sent [\d,]+ lines within 10 s|it told no tools within 6 s",
    "half": r"it cannot be reached: .*peer closed connection",
    "a page": r"it refused: Unexpected content type: text/html",
    "no JSON": r"it refused: Failed to parse JSON response",
}


def test_attacks_at_the_start_are_one_line_each(hostile: HostileServers, at: Workspace) -> None:
    assert set(STARTS) == {*FIRST, *LISTS} - {"lies"}
    before, problems = measure_from_now(), {}

    async def run() -> None:
        for how, _ in STARTS.items():
            servers = create_servers(hostile, at, how)
            try:
                [problem] = await servers.start_all()
                problems[how] = problem
                assert "called add" in await ask(servers.tools[0], at)
            finally:
                await servers.close()

    asyncio.run(run())
    for how, why in STARTS.items():
        name, _, reason = problems[how].removeprefix("mcp server ").partition(": ")
        assert name == clean(how)
        assert re.match(why, reason), problems[how]
        assert "\n" not in reason
    assert measure_memory("VmHWM") - before < MOST_MEMORY


def test_attacks_on_a_call_are_one_line_each(hostile: HostileServers, at: Workspace) -> None:
    before = measure_from_now()

    async def run(how: str) -> str:
        servers = create_servers(hostile, at, how)
        try:
            assert await servers.start_all() == []
            evil = next(each for each in servers.tools if not each.name.startswith("mcp__calc__"))
            honest = next(each for each in servers.tools if each.name.startswith("mcp__calc__"))
            with pytest.raises(ToolFailure) as failure:
                await ask(evil, at)
            assert "called add" in await ask(honest, at)
            return str(failure.value)
        finally:
            await servers.close()

    for how in CALLS:
        said = asyncio.run(run(how))
        first, opened, reason, closed = said.split("\n")  # the server's words have one line
        assert (first, bool(reason)) == (f"the mcp server {clean(how)} has no answer:", True), said
        assert (opened, closed) == (f'<mcp-result server="{clean(how)}">', "</mcp-result>"), said
    assert measure_memory("VmHWM") - before < MOST_MEMORY


def test_lies_about_tools_leave_the_valid_ones_and_no_key_is_sent_elsewhere(
    hostile: HostileServers, at: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_VALUE", KEY)
    hostile.seen.clear()

    async def run() -> None:
        servers = create_servers(hostile, at, "lies", headers={"Authorization": "Bearer $MY_VALUE"})
        try:
            assert await servers.start_all() == []
            [lie] = [each for each in servers.tools if "lies" in each.name]
            assert lie.parameters == {"properties": {}, "type": "object"}
            assert "called add" in await ask(lie, at)
        finally:
            await servers.close()

    asyncio.run(run())
    keys = {how: headers.get("authorization") for how, _, headers in hostile.seen}
    assert keys == {"lies": f"Bearer {KEY}", "honest": None}
    assert redact(f"it is {KEY}") == f"it is {MARKER}"


def create_servers(
    hostile: HostileServers, at: Workspace, how: str, headers: dict[str, str] | None = None
) -> McpServers:
    evil = McpServerSettings(url=hostile.find(how), start_timeout=6, call_timeout=4, headers=headers or {})
    return McpServers(at, {clean(how): evil, "calc": hostile.find("honest")})


def clean(how: str) -> str:
    return how.replace(" ", "-")


def measure_from_now() -> int:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    return measure_memory("VmRSS")
