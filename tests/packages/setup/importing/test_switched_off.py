"""`patchwright import`: servers, tools, hooks, skills and agents that were switched off stay off, and are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.app_dirs import Home
from cli.app import app
from cli.settings.layers import load_settings

SERVER = {"command": "db-mcp"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def plan(agent: str, root: Path) -> dict[str, Any]:
    found = json.loads(CliRunner().invoke(app, ["import", agent, "--json", "-C", str(root)]).stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "switch", ["enabled = false", "disabled = true", 'enabled = "false"', "enabled_tools = []", "enabled = 0"]
)
def test_a_server_of_codex_stays_off(tmp_path: Path, switch: str) -> None:
    write(
        Path.home() / ".codex/config.toml",
        f'[mcp_servers.off]\ncommand = "off-mcp"\n{switch}\n[mcp_servers.on]\ncommand = "on-mcp"\nenabled = true\n',
    )
    found = plan("codex", tmp_path)
    assert found["settings"] == {"mcp": {"on": "on-mcp"}}
    assert "the MCP server 'off': " in "\n".join(found["left"])


def test_tools_of_a_server_of_codex_stay_off(tmp_path: Path) -> None:
    write(
        Path.home() / ".codex/config.toml",
        '[mcp_servers.db]\ncommand = "db-mcp"\ncwd = "/srv"\nenabled_tools = ["find", "drop"]\n'
        'disabled_tools = ["drop"]\ntool_timeout_sec = 90\nenv_vars = ["DB"]\n',
    )
    found = plan("codex", tmp_path)
    entry = {"command": "DB=$DB db-mcp", "call_timeout": 90}
    assert found["settings"]["mcp"]["db"] == {
        **entry,
        "tools": ["find", "drop"],
        "without_tools": ["drop"],
    }
    assert "there is nothing like it here: cwd" in found["left"][0]
    assert CliRunner().invoke(app, ["import", "codex", "--yes", "-C", str(tmp_path)]).exit_code == 0
    server = load_settings(Home.from_environment(), tmp_path, {}, {}).session.tools.mcp["db"]
    assert not isinstance(server, str)
    assert [each for each in ("find", "drop", "other") if server.uses_tool(each)] == ["find"]


@pytest.mark.parametrize(
    ("settings", "switches"),
    [
        ({"mcp": {"excluded": ["Off"]}}, ""),
        ({"mcp": {"allowed": ["on"]}}, ""),
        ({"excludeMCPServers": ["off"]}, ""),
        ({"allowMCPServers": ["on"]}, ""),
        ({}, '{"off": {"enabled": false}}'),
    ],
)
def test_a_server_of_gemini_stays_off(tmp_path: Path, settings: dict[str, Any], switches: str) -> None:
    servers = {"off": {"command": "off-mcp"}, "on": {"command": "on-mcp", "excludeTools": ["drop"]}}
    write(Path.home() / ".gemini/settings.json", json.dumps({**settings, "mcpServers": servers}))
    if switches:
        write(Path.home() / ".gemini/mcp-server-enablement.json", switches)
    found = plan("gemini", tmp_path)
    assert found["settings"] == {"mcp": {"on": {"command": "on-mcp", "without_tools": ["drop"]}}}
    assert "the MCP server 'off': it is switched off by" in "\n".join(found["left"])


def test_switches_of_gemini_that_cannot_be_read_switch_nothing_on(tmp_path: Path) -> None:
    write(Path.home() / ".gemini/settings.json", json.dumps({"mcpServers": {"db": SERVER}}))
    write(Path.home() / ".gemini/mcp-server-enablement.json", "{broken")
    assert plan("gemini", tmp_path)["settings"] == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"deniedMcpServers": [{"serverName": "off"}]},
        {"deniedMcpServers": [{"serverCommand": ["off-mcp", "-x"]}]},
        {"allowedMcpServers": [{"serverName": "on"}, {"serverUrl": "https://*.corp.example/*"}]},
        {},
    ],
)
def test_a_server_of_claude_code_stays_off(tmp_path: Path, settings: dict[str, Any]) -> None:
    servers = {"off": {"command": "off-mcp", "args": ["-x"]}, "on": {"command": "on-mcp"}}
    projects = {"/elsewhere": {"disabledMcpServers": ["on"]}}
    if not settings:
        projects[str(tmp_path)] = {"disabledMcpServers": ["off"]}
    write(Path.home() / ".claude/settings.json", json.dumps(settings))
    write(Path.home() / ".claude.json", json.dumps({"mcpServers": servers, "projects": projects}))
    found = plan("claude", tmp_path)
    assert found["settings"] == {"mcp": {"on": "on-mcp"}}
    told = "\n".join(found["left"])
    assert "the MCP server 'off': it is switched off by" in told
    assert "on is off in /elsewhere" in told


@pytest.mark.parametrize("place", ["~/.claude/settings.json", ".claude/settings.local.json"])
def test_a_server_that_a_project_shares_stays_off(tmp_path: Path, place: str) -> None:
    write(tmp_path / ".mcp.json", json.dumps({"mcpServers": {"off": SERVER, "on": SERVER}}))
    file = Path(place).expanduser() if place.startswith("~") else tmp_path / place
    write(file, json.dumps({"disabledMcpjsonServers": ["off"]}))
    found = plan("mcp", tmp_path)
    assert found["settings"] == {"mcp": {"on": "db-mcp"}}
    assert "the MCP server 'off': it is switched off by" in found["left"][0]


@pytest.mark.parametrize("value", [True, "true", 1])
def test_hooks_of_claude_code_stay_off(tmp_path: Path, value: object) -> None:
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]}]}
    write(Path.home() / ".claude/settings.json", json.dumps({"disableAllHooks": value, "hooks": hooks}))
    found = plan("claude", tmp_path)
    assert found["files"] == []
    assert "hooks: they are switched off by `disableAllHooks`" in found["left"][0]


def test_skills_and_agents_stay_off(tmp_path: Path) -> None:
    claude = {
        "permissions": {"deny": ["Skill(deploy)", "Agent(judge)"]},
        "skillOverrides": {"old": "off", "kept": "on", "odd": "name-only"},
    }
    write(Path.home() / ".claude/settings.json", json.dumps(claude))
    for name in ("deploy", "old", "kept"):
        write(Path.home() / f".claude/skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\nx")
    for file, name in (("a", "judge"), ("b", "other")):
        write(Path.home() / f".claude/agents/{file}.md", f"---\nname: {name}\ndescription: d\n---\nx")
    found = plan("claude", tmp_path)
    assert found["files"] == ["agents/b.md", "skills/kept/SKILL.md"]
    told = "\n".join(found["left"])
    for name in ("agents/a: it is", "skills/deploy: it is", "skills/old: it is", "odd: there is nothing"):
        assert name in told, name
    write(
        Path.home() / ".codex/config.toml",
        f'[[skills.config]]\npath = "{Path.home()}/.codex/skills/off/SKILL.md"\nenabled = false\n',
    )
    for name in ("off", "on"):
        write(Path.home() / f".codex/skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\nx")
    found = plan("codex", tmp_path)
    assert found["files"] == ["skills/on/SKILL.md"]
    assert "skills/off: it is switched off by `skills.config`" in found["left"][0]
