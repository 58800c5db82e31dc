"""`patchwright import`: what is taken over from other agents, what is named as left, and what stays."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agent.app_dirs import Home
from agent.extension.commands.command_catalog import load_commands
from agent.extension.hooks.hook_catalog import load_hooks
from agent.extension.skills.skill_catalog import load_skills
from agent.team.definitions.agent_catalog import load_agents
from cli.app import app
from cli.settings.layers import load_settings
from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.gemini_import import convert_command
from packages.setup.importing.import_plan import ImportPlan, merge_value


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["import", *words])


def read_settings() -> dict[str, Any]:
    return tomllib.loads((Home.from_environment().config / "settings.toml").read_text())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def home() -> Path:
    Path.home().mkdir(parents=True, exist_ok=True)
    return Path.home()


def test_claude_code(home: Path, tmp_path: Path) -> None:
    settings = {
        "model": "opus",
        "permissions": {
            "allow": ["Bash(npm run test:*)", "mcp__tickets__find", "Edit", "WebFetch(domain:pypi.org)"],
            "deny": ["Read(./.env)", "Bash(curl:*)", "WebFetch"],
            "ask": ["Edit(/migrations/**)"],
            "defaultMode": "default",
        },
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}]},
        "statusLine": {},
    }
    write(home / ".claude/settings.json", json.dumps(settings))
    server = {"command": "tickets-mcp", "args": ["--root", "a b"], "env": {"TICKETS_KEY": "secret-value"}}
    other = {"type": "http", "url": "https://example.com"}
    write(home / ".claude.json", json.dumps({"mcpServers": {"tickets": server, "far": other}}))
    write(home / ".claude/commands/git/ship.md", "Ship $1")
    write(home / ".claude/agents/finder.md", "---\nname: finder\ndescription: d\n---\nFind it.")
    write(home / ".claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: d\n---\nHello.")
    write(home / ".claude/skills/greet/scripts/hi.sh", "echo hi")
    (home / ".claude/skills/greet/scripts/hi.sh").chmod(0o755)
    write(home / ".claude/CLAUDE.md", "Be brief.")
    write(
        Home.from_environment().config / "settings.toml",
        '# mine\napproval = "auto"\n\n[permissions]\ndeny = ["shell(x)"]\n',
    )
    place = ("claude", "-C", str(tmp_path))
    shown = run(*place)
    assert shown.exit_code == 0
    assert "nothing was written" in shown.stderr
    assert read_settings() == {"approval": "auto", "permissions": {"deny": ["shell(x)"]}}
    lines = shown.stdout
    for told in (
        'setting   permissions.allow = ["shell(npm run test *)", "mcp(tickets.find)", "network(pypi.org)"]',
        'kept      approval = "auto" (yours), not "ask"',
        "hook      PreToolUse Bash: check.sh",
        "the model 'opus': set 'model' to a name like",
        "allow Edit: a whole tool is not allowed by a rule",
        'permissions.deny = ["read(./.env)", "shell(curl *)", "network(*)"]',
        "there is nothing like it here: statusLine",
        "values of TICKETS_KEY for the MCP server 'tickets': export them",
        "CLAUDE.md: put what holds for a project into its AGENTS.md",
    ):
        assert told in lines, told
    assert "secret-value" not in lines
    assert run(*place, "--yes").exit_code == 0
    found = read_settings()
    assert found["approval"] == "auto"
    assert found["mcp"] == {
        "tickets": "TICKETS_KEY=$TICKETS_KEY tickets-mcp --root 'a b'",
        "far": "https://example.com",
    }
    assert found["permissions"] == {
        "allow": ["shell(npm run test *)", "mcp(tickets.find)", "network(pypi.org)"],
        "ask": ["edit(migrations/**)"],
        "deny": ["shell(x)", "read(./.env)", "shell(curl *)", "network(*)"],
    }
    text = (Home.from_environment().config / "settings.toml").read_text()
    assert text.startswith("# mine\n")
    mine = Home.from_environment()
    assert load_settings(mine, tmp_path, {}, {}).session.tools.mcp == found["mcp"]
    assert "git:ship" in load_commands(mine, tmp_path).commands
    assert "finder" in load_agents(mine, tmp_path).agents
    assert load_skills(mine, tmp_path).skills["greet"].files == ("scripts/hi.sh",)
    assert (mine.config / "skills/greet/scripts/hi.sh").stat().st_mode & 0o777 == 0o700
    assert [each.runs for each in load_hooks(mine, tmp_path).hooks] == ["check.sh"]
    again = run(*place, "--yes")
    assert again.exit_code == 3
    assert "nothing new of claude" in again.stderr


def test_servers_of_a_project(home: Path, tmp_path: Path) -> None:
    servers = {
        "tickets": {"command": "tickets-mcp", "args": ["a b"], "env": {"KEY": "${KEY}"}},
        "far": {
            "type": "http",
            "url": "https://example.com",
            "headers": {"X-Key": "secret", "X-Own": "${OWN}"},
        },
        "old": {"type": "sse", "url": "https://example.com/sse"},
        "a.b": {"command": "x"},
    }
    write(tmp_path / ".mcp.json", json.dumps({"mcpServers": servers}))
    assert "patchwright import mcp takes its servers" in run("claude", "-C", str(tmp_path)).stdout
    shown = run("mcp", "-C", str(tmp_path))
    assert "nothing was written" in shown.stderr
    assert not (Home.from_environment().config / "settings.toml").exists()
    assert run("mcp", "--yes", "-C", str(tmp_path)).exit_code == 0
    far = {"url": "https://example.com", "headers": {"X-Key": "$FAR_X_KEY", "X-Own": "${OWN}"}}
    assert read_settings() == {"mcp": {"tickets": "KEY=${KEY} tickets-mcp 'a b'", "far": far}}
    for told in ("'old': it is of the type 'sse'", "'a.b': its name has letters", "FAR_X_KEY for the MCP"):
        assert told in shown.stdout, told
    (tmp_path / ".mcp.json").unlink()
    (tmp_path / ".mcp.json").symlink_to("/etc/passwd")
    assert "leads outside" in run("mcp", "-C", str(tmp_path)).stdout


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "patchwright", "args": ["mcp", "serve", "-C", "."]},
        {"command": "/opt/bin/python3", "args": ["-m", "patchwright", "mcp", "serve"]},
        {"command": "uvx", "args": ["--offline", "patchwright", "mcp", "serve"]},
    ],
)
def test_our_own_server_is_not_taken(home: Path, tmp_path: Path, entry: dict[str, Any]) -> None:
    servers = {"ours": entry, "tickets": {"command": "tickets-mcp", "args": ["mcp", "serve"]}}
    write(tmp_path / ".mcp.json", json.dumps({"mcpServers": servers}))
    assert "the MCP server 'ours' is Patchwright itself" in run("mcp", "--yes", "-C", str(tmp_path)).stdout
    assert list(read_settings()["mcp"]) == ["tickets"]


def test_codex(home: Path, tmp_path: Path) -> None:
    write(
        home / ".codex/config.toml",
        'model = "gpt-5.2-codex"\nmodel_reasoning_effort = "xhigh"\napproval_policy = "on-request"\n'
        'sandbox_mode = "danger-full-access"\nnotify = ["x"]\n[sandbox_workspace_write]\nnetwork_access = true\n'
        '[mcp_servers.docs]\ncommand = "npx"\nargs = ["-y", "@x/docs"]\n',
    )
    write(home / ".codex/prompts/plan.md", "Plan $1")
    done = run("codex", "--yes", "-C", str(tmp_path))
    assert done.exit_code == 0, done.stdout
    assert read_settings() == {
        "model": "gpt-5.2-codex",
        "models": {"effort": "xhigh"},
        "approval": "auto",
        "mcp": {"docs": "npx -y @x/docs"},
    }
    for told in (
        "danger-full-access: it lifts every bound",
        "network_access: name the hosts",
        "notify",
        "npx of",
    ):
        assert told in done.stdout, told
    assert "plan" in load_commands(Home.from_environment(), tmp_path).commands


def test_a_provider_of_codex_becomes_an_address(home: Path, tmp_path: Path) -> None:
    write(
        home / ".codex/config.toml",
        'model = "m"\nmodel_provider = "lab"\n[model_providers.lab]\nbase_url = "http://lab/v1"\nenv_key = "LAB"\n',
    )
    assert run("codex", "--yes", "-C", str(tmp_path)).exit_code == 0
    assert read_settings() == {"model": "openai/m", "api_base": "http://lab/v1"}


def test_gemini(home: Path, tmp_path: Path) -> None:
    settings = {
        "general": {"vimMode": True, "defaultApprovalMode": "auto_edit", "preferredEditor": "code"},
        "model": {"name": "gemini-3-pro"},
        "tools": {
            "allowed": ["run_shell_command(git)"],
            "exclude": ["run_shell_command(rm -rf)", "web_fetch"],
        },
        "mcpServers": {"local": {"command": "local-mcp"}},
        "ui": {"hideBanner": True},
    }
    write(home / ".gemini/settings.json", json.dumps(settings))
    write(
        home / ".gemini/commands/git/log.toml",
        'description = "Reads: the log"\n'
        'prompt = """\nLook at @{docs/a.md} and !{git log {{args}}} for {{args}}.\n"""\n',
    )
    write(home / ".gemini/commands/bad.toml", "x = 1\n")
    done = run("gemini", "--yes", "-C", str(tmp_path))
    assert done.exit_code == 0, done.stdout
    assert read_settings() == {
        "model": "gemini-3-pro",
        "approval": "auto",
        "terminal": {"editing": "vi"},
        "permissions": {"allow": ["shell(git *)"], "deny": ["shell(rm -rf *)", "network(*)"]},
        "mcp": {"local": "local-mcp"},
    }
    for told in (
        "preferredEditor",
        "hideBanner",
        "bad.toml: it is no command",
    ):
        assert told in done.stdout, told
    command = load_commands(Home.from_environment(), tmp_path).commands["git:log"]
    assert command.template == "Look at @docs/a.md and !`git log $ARGUMENTS` for $ARGUMENTS."
    assert command.description == "Reads: the log"
    assert convert_command("Say {{args}}", "") == "Say $ARGUMENTS\n"


def test_aider(home: Path, tmp_path: Path) -> None:
    write(
        home / ".aider.conf.yml",
        "model: anthropic/claude-sonnet-4-5\nweak-model: gpt-5-mini\nauto-commits: false\ntest-cmd: make check\n"
        "vim: true\ndark_mode: true\nread: [CONVENTIONS.md]\nanthropic-api-key: sk-secret\nmap-tokens: 1024\n",
    )
    write(tmp_path / ".aider.conf.yml", "openai-api-base: http://evil\n")
    done = run("aider", "--yes", "-C", str(tmp_path))
    assert done.exit_code == 0, done.stdout
    assert read_settings() == {
        "model": "anthropic/claude-sonnet-4-5",
        "models": {"fast": "gpt-5-mini"},
        "commit": "never",
        "tests": {"command": "make check"},
        "terminal": {"editing": "vi", "theme": "dark"},
    }
    for told in (
        "keys are not copied",
        "name them in AGENTS.md",
        "map-tokens",
        ".aider.conf.yml of this project",
    ):
        assert told in done.stdout, told
    assert "sk-secret" not in done.stdout


def test_files_that_cannot_be_read_are_told(home: Path, tmp_path: Path) -> None:
    write(home / ".claude/settings.json", "{broken")
    write(home / ".codex/config.toml", "= broken")
    write(home / ".aider.conf.yml", "a: [")
    write(home / ".gemini/settings.json", "[]")
    for agent, told in (("claude", "no JSON"), ("codex", "no TOML"), ("aider", "no YAML"), ("gemini", "")):
        done = run(agent, "--json", "-C", str(tmp_path))
        assert (done.exit_code, told in done.stdout) == (3, True), agent
    assert not (Home.from_environment().config / "settings.toml").exists()


@pytest.mark.parametrize(
    ("text", "verdict", "rule"),
    [
        ("Bash(git status)", "allow", "shell(git status)"),
        ("Bash(git:*)", "deny", "shell(git *)"),
        ("Bash", "ask", "shell(*)"),
        ("Write", "deny", "edit(**)"),
        ("Edit(./notes.md)", "allow", "edit(./notes.md)"),
        ("Read(.env)", "deny", "read(.env)"),
        ("Read(//etc/**)", "deny", "read(//etc/**)"),
        ("mcp__tickets", "deny", "mcp(tickets.*)"),
        ("Bash(*)", "allow", ""),
        ("Edit(../x)", "deny", ""),
        ("not a tool!", "deny", ""),
    ],
)
def test_a_rule_of_another_agent(text: str, verdict: Any, rule: str) -> None:
    plan = ImportPlan()
    add_rule(plan, text, verdict, "f")
    assert plan.settings == ({f"permissions.{verdict}": [rule]} if rule else {})
    assert bool(plan.left) is not bool(rule)


def test_what_is_there_stays() -> None:
    assert merge_value(None, "x") == "x"
    assert merge_value(["a"], ["a", "b"]) == ["a", "b"]
    assert merge_value({"a": "1"}, {"a": "2", "b": "3"}) == {"a": "1", "b": "3"}
    assert merge_value("a", "b") is None


def test_variables_of_servers_mean_what_they_mean_there(home: Path, tmp_path: Path) -> None:
    """Claude Code fills in `${NAME}`, Gemini CLI `$NAME`, too, and Codex nothing."""
    server = {
        "command": "db",
        "args": ["${HOME}/s", "$HOME"],
        "env": {"KEY": "secret$word", "MODE": "${MODE:-a}"},
    }
    write(home / ".claude.json", json.dumps({"mcpServers": {"claude": server}}))
    write(home / ".gemini/settings.json", json.dumps({"mcpServers": {"gemini": server}}))
    write(home / ".codex/config.toml", '[mcp_servers.codex]\ncommand = "db"\nargs = ["${HOME}"]\n')
    for agent in ("claude", "gemini"):
        run(agent, "--yes", "-C", str(tmp_path))
    assert read_settings()["mcp"] == {
        "claude": "KEY=$KEY MODE='${MODE:-a}' db '${HOME}/s' '$HOME'",
        "gemini": "KEY=$KEY MODE='${MODE:-a}' db '${HOME}/s' '${HOME}'",
    }
    assert "'codex': `${…}` in it is text there" in run("codex", "-C", str(tmp_path)).stdout
