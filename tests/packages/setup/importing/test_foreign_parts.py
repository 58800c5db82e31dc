"""`patchwright import`: what Codex and Gemini CLI keep beside their settings is taken, or named with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from agent.app_dirs import Home
from agent.extension.hooks.hook_catalog import load_hooks
from agent.team.definitions.agent_catalog import load_agents
from cli.app import app
from cli.settings.layers import load_settings


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def plan(agent: str, root: Path) -> tuple[dict[str, Any], str]:
    """Return the plan of an import that is also written, and its lines on what is left."""
    run = CliRunner().invoke
    found = json.loads(run(app, ["import", agent, "--json", "-C", str(root)]).stdout)
    run(app, ["import", agent, "--yes", "-C", str(root)])
    return found, "\n".join(found["left"])


def test_rules_of_codex(tmp_path: Path) -> None:
    write(
        Path.home() / ".codex/rules/default.rules",
        '# mine\nprefix_rule(\n    pattern = ["git", ["push", "fetch"]],\n    decision = "forbidden",\n'
        '    match = ["git push"],\n)\nprefix_rule(pattern=["gh", "pr view"])\n'
        'prefix_rule(pattern=["rm"], decision="prompt")\nnetwork_rule(host="x.example", decision="allow")\n'
        'prefix_rule(pattern=["a"], decision="never")\nprefix_rule(pattern=[open("/etc/passwd").read()])\n',
    )
    write(Path.home() / ".codex/rules/broken.rules", "prefix_rule(")
    found, left = plan("codex", tmp_path)
    assert found["settings"] == {
        "permissions.allow": ["shell(gh 'pr view' *)"],
        "permissions.deny": ["shell(git push *)", "shell(git fetch *)"],
        "permissions.ask": ["shell(rm *)"],
    }
    assert load_settings(Home.from_environment(), tmp_path, {}, {})
    for told in (
        "default.rules:9: a rule is not taken: only `prefix_rule",
        "default.rules:10",
        "default.rules:11",
    ):
        assert told in left, told
    assert "broken.rules: its rules are not taken" in left


def test_hooks_and_agents_of_codex(tmp_path: Path) -> None:
    hook = {"type": "command", "command": "sh guard.sh"}
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}], "Odd": [{"hooks": [hook]}]}
    write(Path.home() / ".codex/hooks.json", json.dumps({"hooks": hooks}))
    write(
        Path.home() / ".codex/agents/rev.toml",
        'name = "rev"\ndescription = "Reads: all"\ndeveloper_instructions = "Read it."\nmodel = "gpt-5.5"\n'
        'model_reasoning_effort = "high"\nsandbox_mode = "read-only"\n',
    )
    write(Path.home() / ".codex/agents/bad.toml", 'name = "bad"\n')
    _, left = plan("codex", tmp_path)
    home = Home.from_environment()
    assert [each.runs for each in load_hooks(home, tmp_path).hooks] == ["sh guard.sh"]
    agent = load_agents(home, tmp_path).agents["rev"]
    assert (agent.description, agent.instructions, agent.effort) == ("Reads: all", "Read it.", "high")
    assert str(agent.mode) == "read-only"
    for told in (
        "hooks of 'Odd' are not used",
        "rev.toml: there is nothing like it here: model",
        "bad.toml: it is no",
    ):
        assert told in left, told


def test_hooks_of_codex_that_are_switched_off(tmp_path: Path) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}
    write(Path.home() / ".codex/hooks.json", json.dumps({"hooks": hooks}))
    for text in ("[features]\nhooks = false\n", '[hooks.state."a:stop:0:0"]\nenabled = false\n'):
        write(Path.home() / ".codex/config.toml", text)
        found, left = plan("codex", tmp_path)
        assert found["files"] == []
        assert "switched off by" in left


def test_a_provider_of_codex(tmp_path: Path) -> None:
    write(
        Path.home() / ".codex/config.toml",
        'model = "m"\nmodel_provider = "lab"\n[model_providers.lab]\nbase_url = "https://lab/v1"\n'
        'wire_api = "responses"\nquery_params = { v = "1" }\nhttp_headers = { X = "secret" }\n'
        '[model_providers.other]\nbase_url = "https://other/v1"\n',
    )
    found, left = plan("codex", tmp_path)
    assert found["settings"] == {"model": "openai_responses/m", "api_base": "https://lab/v1"}
    assert "model_providers.lab: there is nothing like it here: http_headers, query_params" in left
    assert "only the one in use is taken: other" in left
    assert "secret" not in left


def test_policies_of_gemini(tmp_path: Path) -> None:
    write(
        Path.home() / ".gemini/policies/mine.toml",
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = ["git push", "rm "]\ndecision = "deny"\n'
        'priority = 100\n[[rule]]\nmcpName = "db"\ntoolName = "drop"\ndecision = "ask_user"\n'
        '[[rule]]\ntoolName = "web_fetch"\ndecision = "deny"\n'
        '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = "git .*"\ndecision = "allow"\n'
        '[[rule]]\ntoolName = "write_file"\nmodes = ["plan"]\ndecision = "deny"\n'
        '[[rule]]\ndecision = "deny"\n[[rule]]\ntoolName = "x"\ndecision = "maybe"\n',
    )
    found, left = plan("gemini", tmp_path)
    assert found["settings"] == {
        "permissions.deny": ["shell(git push *)", "shell(rm *)", "network(*)"],
        "permissions.ask": ["mcp(db.drop)"],
    }
    for number, told in ((4, "commandRegex"), (5, "modes"), (6, "names no tool"), (7, "'maybe' is none")):
        assert any(f"rule {number}: " in line and told in line for line in left.splitlines()), told


def test_skills_agents_and_extensions_of_gemini(tmp_path: Path) -> None:
    folder = Path.home() / ".gemini"
    settings = {"skills": {"disabled": ["off"]}, "agents": {"overrides": {"away": {"enabled": False}}}}
    write(folder / "settings.json", json.dumps(settings))
    for name in ("on", "off"):
        write(folder / f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\nx")
        write(folder / f"extensions/{name}/gemini-extension.json", "{}")
    for name in ("here", "away"):
        write(folder / f"agents/{name}.md", f"---\nname: {name}\ndescription: d\ntemperature: 1\n---\nx")
    found, left = plan("gemini", tmp_path)
    assert found["files"] == ["skills/on/SKILL.md", "agents/here.md"]
    for told in (
        "skills/off: it is switched off",
        "agents/away.md: it is switched off",
        "here.md: unknown, not used: temperature",
        "extensions are not taken: off, on",
    ):
        assert told in left, told
