"""The servers of a project's `.mcp.json`: none before the user trusts them as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.app_dirs import Home
from cli.app import app
from cli.settings.layers import load_settings
from tests.support.cli import git
from tools.mcp.server_settings import McpServerSettings

URL = "https://wiki.example/mcp"
SERVERS = {
    "tickets": {"command": "tickets-mcp", "args": ["a b"], "env": {"KEY": "${KEY}", "MODE": "two words"}},
    "wiki": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}},
    "own": {"command": "theirs"},
    "old": {"type": "sse", "url": URL},
    "late": {"command": "late", "env": {"A": "${input:key}"}},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    write_servers(tmp_path, SERVERS)
    home = Home.from_environment()
    home.config.mkdir(parents=True, exist_ok=True)
    (home.config / "settings.toml").write_text('[mcp]\nown = "mine"\n')
    return tmp_path


def write_servers(project: Path, servers: object) -> None:
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def test_servers_are_used_once_they_are_trusted_and_until_they_change(project: Path) -> None:
    home = Home.from_environment()
    settings = load_settings(home, project, {}, {})
    assert settings.session.tools.mcp == {"own": "mine"}
    [notice] = settings.notices
    assert notice.startswith("3 MCP servers of this project not used, since you have not trusted them")
    trusted = CliRunner().invoke(app, ["trust", "-C", str(project)])
    assert trusted.exit_code == 0
    assert "setting .mcp.json tickets: \"KEY=${KEY} MODE='two words' tickets-mcp 'a b'\"" in trusted.stdout
    settings = load_settings(home, project, {}, {})
    assert settings.session.tools.mcp == {
        "tickets": "KEY=${KEY} MODE='two words' tickets-mcp 'a b'",
        "wiki": McpServerSettings(url=URL, headers={"Authorization": "Bearer ${WIKI_TOKEN}"}),
        "own": "mine",
    }
    assert [each.partition(" is not used: ")[2] for each in settings.notices] == [
        "it is of the type 'sse': only commands and streamable HTTP are supported",
        "'${input:key}' is no variable that can be filled in",
    ]
    write_servers(project, {**SERVERS, "tickets": {"command": "other"}})
    assert load_settings(home, project, {}, {}).session.tools.mcp == {"own": "mine"}


def test_patchwright_is_no_server_of_its_own(project: Path) -> None:
    """The entry that the documentation gives for other agents, and its like; not a program beside it."""
    own = [
        {"command": "patchwright", "args": ["mcp", "serve"]},
        {"command": "/opt/bin/patchwright", "args": ["mcp", "serve", "--read-only"]},
        {"command": "python3", "args": ["-m", "patchwright", "mcp", "serve"], "env": {"A": "b"}},
    ]
    other = {"command": "mcp-patchwright", "args": ["serve"]}
    write_servers(project, {**{f"own{n}": each for n, each in enumerate(own)}, "other": other})
    home = Home.from_environment()
    assert CliRunner().invoke(app, ["trust", "-C", str(project)]).exit_code == 0
    settings = load_settings(home, project, {}, {})
    assert settings.session.tools.mcp == {"own": "mine", "other": "mcp-patchwright serve"}
    assert [each.partition(" is not used: ")[2] for each in settings.notices] == [
        "it is Patchwright itself, for other agents"
    ] * len(own)


def test_a_file_that_is_none_is_a_notice(project: Path) -> None:
    (project / ".mcp.json").write_text("{")
    [notice] = load_settings(Home.from_environment(), project, {}, {}).notices
    assert notice.startswith(".mcp.json is not used: ")
