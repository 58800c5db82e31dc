"""Servers of the Model Context Protocol: real processes in the sandbox, good ones and broken ones."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.policy.decision import Approval, Mode, Policy
from sandbox.policy.rules import Rules, parse_rule
from sandbox.secrets.redaction import MARKER, redact
from tests.tools.workspaces import workspace
from tools.core.action import ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.mcp import server_connection
from tools.mcp.server_settings import McpServerSettings, ServerSetting
from tools.mcp.server_tools import McpServers

pytestmark = pytest.mark.slow

Told = TypeVar("Told")

SERVER = Path(__file__).with_name("server.py")
PYTHON = str(Path(sys.executable).resolve())
"""Not that of an environment which may lie in /tmp, of which a sandbox has its own."""


def line(how: str = "") -> str:
    return shlex.join([PYTHON, "server.py", *([how] if how else [])])


def python(code: str) -> str:
    return shlex.join([PYTHON, "-c", code])


KEY = "ghp_" + "a1B2" * 9


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    """A workspace with the server in it."""
    return workspace(tmp_path, {"server.py": SERVER.read_text()})


def played(
    at: Workspace, settings: Mapping[str, ServerSetting], story: Callable[[McpServers], Awaitable[Told]]
) -> Told:
    """What a story tells that is played with these servers, which end with it."""

    async def run() -> Told:
        servers = McpServers(at, settings)
        try:
            return await story(servers)
        finally:
            await servers.close()

    return asyncio.run(run())


async def call(tool: Tool, at: Workspace, **arguments: object) -> tuple[str, bool]:
    observation = await tool.run(**tool.validate(arguments), at=at)
    return observation.text, observation.failed


def test_tools_are_offered_called_and_what_they_say_is_kept_apart(at: Workspace) -> None:
    async def story(servers: McpServers) -> None:
        assert await servers.start_all() == []
        found = {each.name: each for each in servers.tools}
        assert list(found) == ["mcp__calc__add", "mcp__calc__write", "mcp__calc__roots"]
        add = found["mcp__calc__add"]
        assert add.description == "(of the MCP server calc) Add two numbers."
        assert "$schema" not in add.parameters
        assert add.signature == "mcp__calc__add(a, b)"
        assert await call(add, at, a=2, b=40) == (
            '<mcp-result server="calc">\n42\n'
            "(a picture: it stands behind the results, if it can be shown)\n</mcp-result>",
            False,
        )
        assert await call(add, at, a="x", b=1) == (
            '<mcp-result server="calc">\na is no number\n</mcp-result>',
            True,
        )
        with pytest.raises(ToolFailure, match="b missing, so nothing was done"):
            await call(add, at, a=1)
        text, _ = await call(found["mcp__calc__roots"], at)
        assert at.root.as_uri() in text
        text, failed = await call(found["mcp__calc__write"], at)
        if at.sandbox.name == "unconfined":
            assert text.count("</mcp-result>") == 1  # what it says cannot end what it says
        else:
            assert failed
            assert not (at.root / "written.txt").exists()

    played(at, {"calc": line()}, story)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (line("old"), "Unsupported protocol version from the server: 1999-01-01"),
        (
            python("while True: print('ready')"),
            "it wrote something else than messages to its standard output",
        ),
        (python("print('x' * 100_000)"), "it wrote something else than messages to its standard output"),
        (
            "no-such-program-at-all",
            "the program cannot be started: sh: ",
        ),
        (f"{PYTHON} -c pass", "it ended with exit status 0"),
        (python("raise SystemExit('set CALC_KEY')"), "it ended with exit status 1: set CALC_KEY"),
        (
            python("print('usage: calc KEY'); raise SystemExit(2)"),
            "it ended with exit status 2: usage: calc KEY",
        ),
        (
            python("import sys; [print(n, file=sys.stderr) for n in range(9000)]; sys.exit(3)"),
            "it ended with exit status 3: 8997 / 8998 / 8999",
        ),
        (python(f"raise SystemExit('bad key {KEY}')"), f"it ended with exit status 1: bad key {MARKER}"),
        (line("deaf"), "it told no tools within 3 s"),
    ],
)
def test_a_broken_server_is_told_of_and_the_others_are_there(command: str, why: str, at: Workspace) -> None:
    entry = McpServerSettings(command=command, start_timeout=3.0 if "deaf" in command else 30.0)

    async def story(servers: McpServers) -> None:
        problems = await servers.start_all()
        assert len(problems) == 1
        assert problems[0].startswith(f"mcp server broken: {why}")
        broken = servers.get("broken")
        assert broken is not None
        assert not broken.alive
        assert problems == [f"mcp server broken: {broken.why}"]

    played(at, {"broken": entry}, story)


def test_lines_among_the_messages_are_skipped_and_told_of_once(at: Workspace) -> None:
    async def story(servers: McpServers) -> None:
        told = await servers.start_all()
        assert len(told) == 1
        assert "skipped, as 'Server 1.0 is ready!'" in told[0]
        add = next(each for each in servers.tools if each.name == "mcp__calc__add")
        for number in range(150):
            text, failed = await call(add, at, a=number, b=1)
            assert (f"{number + 1}" in text, failed) == (True, False)

    played(at, {"calc": line("noise")}, story)


def test_a_server_that_ends_is_started_again_by_the_next_call(at: Workspace) -> None:
    async def story(servers: McpServers) -> None:
        assert await servers.start_all() == []
        add = next(each for each in servers.tools if each.name == "mcp__calc__add")
        for _ in range(2):
            with pytest.raises(ToolFailure) as raised:
                await call(add, at, a=1, b=1)
            assert str(raised.value) == (
                "the mcp server calc has no answer:\n"
                '<mcp-result server="calc">\nit ended with exit status 3\n</mcp-result>'
            )
        await servers.close()
        server = servers.get("calc")
        assert server is not None
        assert not server.alive
        await server.start()
        assert server.alive

    played(at, {"calc": line("dies")}, story)


def test_a_server_asks_nothing_while_its_tools_are_listed(at: Workspace) -> None:
    asked: list[str] = []

    async def ask(question: str, options: object) -> str:
        asked.append(question)
        return "Ada"

    async def story(servers: McpServers) -> list[str]:
        servers.let_ask(ask)
        assert await servers.start_all() == []
        return [each.description for each in servers.tools]

    told = played(at, {"calc": line("asks")}, story)
    assert told == ["(of the MCP server calc) decline"] * 3
    assert asked == []


def test_servers_whose_start_was_cancelled_are_started_by_the_next(at: Workspace) -> None:
    async def story(servers: McpServers) -> None:
        first = asyncio.create_task(servers.start_all())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        assert first.cancelled()
        assert servers.tools == []
        assert await servers.start_all() == []
        assert len(servers.tools) == 3

    played(at, {"calc": line()}, story)


def test_a_server_that_lists_no_resources_has_its_tools(
    at: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_connection, "LIST_SECONDS", 0.2)

    async def story(servers: McpServers) -> None:
        assert await servers.start_all() == []
        server = servers.get("calc")
        assert server is not None
        assert (len(server.tools), len(server.resources), len(server.prompts)) == (3, 0, 1)

    played(at, {"calc": McpServerSettings(command=line("hangs"), start_timeout=20)}, story)


def test_a_call_is_asked_about_unless_a_rule_says_otherwise(at: Workspace) -> None:
    async def story(servers: McpServers) -> Tool:
        await servers.start_all()
        return servers.tools[0]

    tool = played(at, {"calc": line()}, story)
    effect = tool.effect_of({"arguments": {"a": 1}}, at)
    assert effect.call == 'add {"a": 1}'

    def verdict(mode: Mode, approval: Approval, *rules: str) -> str:
        found = Rules(tuple(parse_rule(each.partition(" ")[2], each.partition(" ")[0]) for each in rules))  # type: ignore[arg-type]
        decision = Policy(mode, approval, found).decide(effect, confined=True, tool=effect.server_tool)
        return decision.verdict

    assert verdict(Mode.WORKSPACE, Approval.AUTO) == "ask"
    assert verdict(Mode.WORKSPACE, Approval.NEVER) == "deny"
    assert verdict(Mode.READ_ONLY, Approval.ASK) == "deny"
    assert verdict(Mode.FULL, Approval.ASK) == "allow"
    assert verdict(Mode.WORKSPACE, Approval.NEVER, "allow mcp(calc.*)") == "allow"
    assert verdict(Mode.FULL, Approval.ASK, "deny mcp(calc.add)") == "deny"


def test_a_key_for_a_server_is_in_no_command_line(at: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETS_TOKEN", "own-f3Qx81LmZ0vTb2")
    key = "k3y-9aZ4Qw7LpX2mN8vB"

    async def story(servers: McpServers) -> str:
        assert await servers.start_all() == []
        lines = read_command_lines()
        assert any("server.py" in each for each in lines)
        assert not [each for each in lines if key in each or "own-f3Qx81LmZ0vTb2" in each]
        told, _ = await call(servers.tools[0], at, a=1, b=1)
        return told

    command = f"env TICKETS_KEY={key} TICKETS_TOKEN=$TICKETS_TOKEN {line('tells')}"
    told = played(at, {"calc": command}, story)
    assert f'"TICKETS_KEY": "{key}"' in told
    assert '"TICKETS_TOKEN": "own-f3Qx81LmZ0vTb2"' in told
    assert redact(f"the key is {key}") == f"the key is {MARKER}"


def read_command_lines() -> list[str]:
    """The command lines of all processes on the machine, as every local user sees them."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            found.append(each.read_bytes().decode("utf-8", "replace"))
    return found


def test_tools_that_the_settings_leave_out_are_not_offered(at: Workspace) -> None:
    async def list_names(servers: McpServers) -> list[str]:
        assert await servers.start_all() == []
        return [each.name for each in servers.tools]

    settings = {
        "few": McpServerSettings(command=line(), tools=["add", "roots"], without_tools=["roots"]),
        "less": McpServerSettings(command=line(), without_tools=["write"]),
    }
    assert played(at, settings, list_names) == ["mcp__few__add", "mcp__less__add", "mcp__less__roots"]


def test_variables_are_filled_in_when_a_server_starts(at: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a value is refused with its name, and the others work."""
    monkeypatch.setenv("HOW", "tells")
    monkeypatch.delenv("NOT_THERE", raising=False)

    async def story(servers: McpServers) -> str:
        assert await servers.start_all() == [
            "mcp server lost: the variable NOT_THERE is not set: export it, or write ${NOT_THERE:-default}"
        ]
        told, _ = await call(servers.tools[0], at, a=1, b=1)
        return told

    settings = {
        "calc": f"MODE='${{NOT_THERE:-two words}}' {PYTHON} server.py ${{HOW}}",
        "lost": f"{PYTHON} server.py ${{NOT_THERE}}",
    }
    assert '"MODE": "two words"' in played(at, settings, story)


def test_a_tool_that_needs_a_task_is_asked_for_until_its_result_is_there(at: Workspace) -> None:
    shown: list[str] = []
    at.progress = shown.append

    async def story(servers: McpServers) -> tuple[str, bool]:
        await servers.start_all()
        [add] = [each for each in servers.tools if each.name == "mcp__calc__add"]
        return await call(add, at, a=2, b=40)

    text, failed = played(at, {"calc": line("late")}, story)
    assert "42" in text
    assert not failed
    assert any("adding up" in each for each in shown)
