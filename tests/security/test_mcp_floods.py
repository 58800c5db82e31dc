"""Servers of the Model Context Protocol that flood, stall, lie and change: real processes, one attack each.

Whatever one does, our memory and time stay bounded, the reason is one line, and another server goes on answering.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from agent.app_dirs import Home
from tests.security.mcp_flood import ATTACKS
from tests.support import cli
from tests.support.cli import CHECKOUT, call, script
from tests.support.talking import log_of, make_shop
from tests.tools.workspaces import workspace
from tools.core.action import ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.mcp.server_settings import McpServerSettings
from tools.mcp.server_tools import McpServers

pytestmark = pytest.mark.slow

T = TypeVar("T")

PYTHON = str(Path(sys.executable).resolve())
"""Not that of an environment which may lie in /tmp, of which a sandbox has its own."""

MOST_MEMORY = 160 << 20
"""Bytes that one attack may cost at its worst moment: a message of 16 MiB is held a few times."""

MOST_SECONDS = 40
START_SECONDS, CALL_SECONDS = 10.0, 5.0
LONGEST_REASON = 1_200


def line(how: str) -> str:
    return shlex.join([PYTHON, "mcp_flood.py", how])


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    return workspace(tmp_path, {"mcp_flood.py": (CHECKOUT / "tests/security/mcp_flood.py").read_text()})


def play(at: Workspace, how: str, story: Callable[[McpServers, list[str]], Awaitable[T]]) -> T:
    """Start the hostile server beside an honest one; measure, and ask the honest one at the end."""

    async def run() -> T:
        evil = McpServerSettings(command=line(how), start_timeout=START_SECONDS, call_timeout=CALL_SECONDS)
        servers = McpServers(at, {"evil": evil, "calc": line("honest")})
        try:
            problems = await servers.start_all()
            assert all("\n" not in each and len(each) < LONGEST_REASON for each in problems), problems
            result = await story(servers, problems)
            honest = next(each for each in servers.tools if each.name == "mcp__calc__add")
            assert "called add" in await ask(honest, at)
            return result
        finally:
            await servers.close()

    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, start = measure_memory("VmRSS"), time.monotonic()
    result = asyncio.run(run())
    assert time.monotonic() - start < MOST_SECONDS
    assert measure_memory("VmHWM") - before < MOST_MEMORY
    return result


def measure_memory(field: str) -> int:
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) << 10


async def ask(tool: Tool, at: Workspace, **arguments: object) -> str:
    return (await tool.run(**tool.validate(arguments), at=at)).text


REFUSED = {
    "notifications": "it sent 10,001 lines within 10 s",
    "blank lines": "it sent 10,001 lines within 10 s",
    "progress of 1 MB": r"it sent \d+ MiB within 10 s",
    "deep JSON": "it wrote something else than messages",
    "deep lists": "it wrote something else than messages",
    "deep strings": "it wrote something else than messages",
    "a line of 64 MB": "it sent a line of more than 16 MiB",
    "a line without end": "it sent a line of more than 16 MiB",
    "a byte a second": "it told no tools within 10 s",
    "a version of 8 MB": "Unsupported protocol version from the server: v",
    "a refusal of 7 MB": "it refused: no ",
    "a refusal that is none": "it refused: ",
    "questions": r"it does not read what it is sent|it sent \d+ lines within 10 s",
    "no list": "it refused: a result that is none",
    "a list of lists": "it refused: no list of tools",
    "a number": "it refused: a result that is none",
    "NaN": "it refused: no list of tools",
}


@pytest.mark.parametrize(("how", "why"), REFUSED.items())
def test_a_server_that_floods_at_its_start_is_ended(how: str, why: str, at: Workspace) -> None:
    async def story(servers: McpServers, problems: list[str]) -> None:
        assert len(problems) == 1
        assert re.match(f"mcp server evil: ({why})", problems[0]), problems
        evil = servers.get("evil")
        assert evil is not None
        assert not evil.alive

    play(at, how, story)


OFFERED = {
    "100,000 tools": 128,
    "pages without end": 32,
    "a cursor of 8 MB": 1,
    "a schema of 8 MB": 1,
    "128 schemas of 60 KB": 4,
    "a deep schema": 1,
    "a schema that is none": 3,
    "names": 15,
    "half characters": 1,
    "strange answers": 1,
    "errors of 300 MB": 1,
    "list changed": 1,
}


@pytest.mark.parametrize(("how", "count"), OFFERED.items())
def test_what_a_server_offers_stays_within_bounds(how: str, count: int, at: Workspace) -> None:
    async def story(servers: McpServers, problems: list[str]) -> None:
        assert problems == []
        found = [each for each in servers.tools if each.name.startswith("mcp__evil__")]
        assert len(found) == count
        assert sum(len(json.dumps(each.parameters)) for each in found) < 300_000
        for each in found:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", each.name)
            assert each.parameters["type"] == "object"
            assert each.signature.startswith(each.name)
            assert each.description.encode().startswith(b"(of the MCP server evil) ")
            assert each.effect_of(each.validate({}), at).kind == "mcp"  # no name makes it harmless
            assert "forged" not in each.name
            assert "called" in await ask(each, at)

    play(at, how, story)


@pytest.mark.parametrize("how", ATTACKS["call"])
def test_a_call_that_is_answered_with_an_attack_is_one_result_or_one_line(how: str, at: Workspace) -> None:
    async def story(servers: McpServers, problems: list[str]) -> None:
        tool = next(each for each in servers.tools if each.name == "mcp__evil__add")
        if how in FAILS:
            with pytest.raises(ToolFailure) as failure:
                await asyncio.wait_for(ask(tool, at), 20)
            first, opened, reason, closed = str(failure.value).split("\n")  # the server's words have one line
            assert (first, opened) == ("the mcp server evil has no answer:", '<mcp-result server="evil">')
            assert (bool(reason), closed) == (True, "</mcp-result>")
            assert len(str(failure.value)) < LONGEST_REASON
            return
        text = await asyncio.wait_for(ask(tool, at), 20)
        text.encode()
        assert text.startswith('<mcp-result server="evil">\n')
        assert text.endswith("\n</mcp-result>")
        assert text.count("</mcp-result>") == text.count("<mcp-result ") == 1

    play(at, how, story)


FAILS = (
    "deep structure",
    "contents no list",
    "contents of anything",
    "exit",
    "closed output",
    "notifications amid",
    "null",
    "text",
    "list",
    "a refusal that is long",
)


def test_a_tool_that_is_another_one_after_a_restart_is_not_called(at: Workspace) -> None:
    """What the user approved, and the model read, is what was described then."""

    async def story(servers: McpServers, problems: list[str]) -> None:
        tool = next(each for each in servers.tools if each.name == "mcp__evil__add")
        assert "called add" in await ask(tool, at)
        with pytest.raises(ToolFailure, match="it ended with exit status 0"):
            await ask(tool, at, end=True)
        with pytest.raises(ToolFailure, match="add is another tool now"):
            await ask(tool, at)

    play(at, "changed", story)


@pytest.mark.parametrize("how", ["questions", "names", "15 MB of text", "a refusal of 7 MB"])
def test_a_whole_run_goes_on_beside_such_a_server(how: str, tmp_path: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    shop = make_shop(tmp_path / "shop")
    (shop / "flood.py").write_text((CHECKOUT / "tests/security/mcp_flood.py").read_text())
    command = json.dumps(shlex.join([PYTHON, "flood.py", how]))
    (home.config / "settings.toml").write_text(
        f"[mcp]\nevil = {command}\n[permissions]\nallow = ['mcp(evil.*)']\n"
    )
    turns = [
        {"calls": [call("mcp__evil__add", a=1), call("read", path="order.py")]},
        {"text": "Done.", "expect": ["STATUS"]},
    ]
    done = cli.run("run", "add", "--model", script(tmp_path, turns), "--no-commit", cwd=shop, timeout=120)
    assert done.code == 0, done.err
    assert "Done." in done.out
    assert all(len(each) < 2_000 for each in done.err.splitlines())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.err)
    said = [event["text"] for event in log_of(shop) if event["kind"] == "observation"]
    assert len(said) == 2
    assert all(len(each) < 100_000 for each in said)
