"""What a server may do: nothing but read, unless its settings or the person say otherwise; what was closed is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.policy.decision import Mode
from tests.tools.mcp.test_mcp import PYTHON, SERVER, call, line, python
from tests.tools.workspaces import workspace
from tools.core.workspace import Workspace
from tools.mcp.server_settings import McpServerSettings, ServerSetting, check_server
from tools.mcp.server_tools import McpServers

pytestmark = pytest.mark.slow

Told = TypeVar("Told")

WRITE = "mcp__calc__write"


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    return workspace(tmp_path, {"server.py": SERVER.read_text()})


def play(
    at: Workspace,
    settings: ServerSetting,
    story: Callable[[McpServers], Awaitable[Told]],
) -> Told:
    async def run() -> Told:
        servers = McpServers(at, {"calc": settings})
        try:
            return await story(servers)
        finally:
            await servers.close()

    return asyncio.run(run())


def write_by(
    at: Workspace, settings: ServerSetting, answers: Mapping[str, str] = {}
) -> tuple[str, bool, list[str]]:
    """Call the tool that writes a file. answers: of the person, by the beginning of a question; none for nobody"""
    asked: list[str] = []

    async def ask(question: str, options: Sequence[str]) -> str:
        asked.append(question)
        return next((each for start, each in answers.items() if question.startswith(start)), "")

    async def story(servers: McpServers) -> tuple[str, bool, list[str]]:
        if answers:
            servers.let_ask(ask)
        await servers.start_all()
        [tool] = [each for each in servers.tools if each.name == WRITE]
        text, failed = await call(tool, at)
        return text, failed, asked

    return play(at, settings, story)


def test_a_server_that_may_write_nothing_is_told_with_the_setting_that_opens_it(at: Workspace) -> None:
    text, failed, _ = write_by(at, line())
    assert failed
    assert text.endswith("`keep = true` a folder of its own]")
    assert '[sandbox: it may not write there; `writable = ["."]` in [mcp.calc] opens the workspace' in text
    assert not (at.root / "written.txt").exists()


def test_a_server_writes_where_its_settings_say_but_not_git(at: Workspace) -> None:
    _, failed, _ = write_by(at, McpServerSettings(command=line(), writable=["."]))
    assert not failed
    assert (at.root / "written.txt").read_text() == "by the server"
    (at.root / ".git").mkdir()
    evil = python(f"open({str(at.root / '.git/config')!r}, 'w')")
    told = play(at, McpServerSettings(command=evil, writable=["."]), McpServers.start_all)
    assert "Read-only file system" in told[0]


def test_the_person_is_asked_once_and_their_yes_opens_the_workspace(at: Workspace) -> None:
    start = "The MCP server calc could not write. Let it write in the workspace"
    _, failed, asked = write_by(at, line(), {start: "no"})
    assert failed
    assert len(asked) == 1
    _, failed, asked = write_by(at, line(), {start: "yes, for this session"})
    assert not failed
    assert len(asked) == 1
    assert (at.root / "written.txt").exists()


def test_nobody_is_asked_to_open_a_read_only_session(at: Workspace) -> None:
    closed = replace(at, mode=Mode.READ_ONLY)
    _, failed, asked = write_by(closed, McpServerSettings(command=line(), writable=["."]), {"The MCP": "yes"})
    assert failed
    assert asked == []
    assert not (at.root / "written.txt").exists()


def test_a_server_writes_the_workspace_in_mode_full(at: Workspace) -> None:
    _, failed, _ = write_by(replace(at, mode=Mode.FULL), line())
    assert not failed


KEEPER = "import os, sys; p = os.environ['NOTES']; sys.stderr.write(open(p).read() if os.path.exists(p) else 'none')"


def test_what_a_server_keeps_is_there_in_the_next_session(at: Workspace) -> None:
    code = f"{KEEPER}; open(p, 'w').write('kept words'); sys.exit(1)"
    settings = McpServerSettings(command=f"NOTES=${{KEEP}}/notes {python(code)}", keep=True)
    [first] = play(at, settings, McpServers.start_all)
    [second] = play(at, settings, McpServers.start_all)
    assert "none" in first
    assert "kept words" in second


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import sys; sys.exit('npm error code EAI_AGAIN registry')", "the sandbox gives it no network"),
        ("open('/etc/here', 'w')", "it may not write there"),
        ("open('/var/nowhere-shown/file')", "the sandbox does not show /var/nowhere-shown/file"),
        ("import sys; sys.exit('set CALC_KEY')", ""),
    ],
)
def test_a_start_that_the_sandbox_made_fail_names_the_cause(at: Workspace, code: str, cause: str) -> None:
    [told] = play(at, python(code), McpServers.start_all)
    assert cause in told
    assert cause or "sandbox" not in told


def test_a_downloader_that_is_late_is_told_that_there_is_no_network(at: Workspace) -> None:
    npx = at.root / "npx"
    npx.write_text("#!/bin/sh\necho fetching >&2\nsleep 20\n")
    npx.chmod(0o755)
    settings = McpServerSettings(command=f"{npx} -y some-server", start_timeout=1)
    [told] = play(at, settings, McpServers.start_all)
    assert "it told no tools within 1 s: fetching; the sandbox gives it no network; npx downloads it" in told


def test_a_program_in_a_hidden_folder_is_named(at: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/odd.py").write_text("")
    [told] = play(at, f"{PYTHON} {tmp_path}/elsewhere/odd.py", McpServers.start_all)
    assert (
        f"the sandbox does not show {tmp_path}/elsewhere/odd.py; the setting `visible_paths` opens it" in told
    )


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"command": "x", "writable": ["sub"]}, "is neither"),
        ({"command": "x", "writable": ["~"]}, "whole home folder"),
        ({"command": "x", "writable": ["/"]}, "whole home folder"),
        ({"command": "x", "network": ["https://a b"]}, "network: "),
        ({"url": "https://a.example", "keep": True}, "are for a `command`"),
    ],
)
def test_rights_that_make_no_sense_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_server(McpServerSettings(**settings))  # type: ignore[arg-type]


def test_a_server_has_a_way_to_its_own_hosts_alone(at: Workspace) -> None:
    if at.sandbox.name != "bubblewrap":
        pytest.skip("only bubblewrap opens hosts")
    code = (
        "import os, sys, urllib.request as r; p = os.environ.get('HTTPS_PROXY', 'no way')\n"
        "try: r.urlopen('http://other.example', timeout=5)\n"
        "except Exception as error: sys.exit(f'{p}: {error}')"
    )
    [closed] = play(at, python(code), McpServers.start_all)
    [opened] = play(
        at, McpServerSettings(command=python(code), network=["api.example"]), McpServers.start_all
    )
    assert "no way" in closed
    assert "no way" not in opened
    assert "403" in opened
