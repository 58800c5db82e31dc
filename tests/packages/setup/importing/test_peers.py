"""`patchwright import` of agents whose files are read by a table: taken, changed, or named with the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.app_dirs import Home
from agent.extension.commands.command_catalog import load_commands
from agent.extension.hooks.hook_catalog import load_hooks
from agent.team.definitions.agent_catalog import load_agents
from cli.app import app
from cli.settings.layers import load_settings
from packages.setup.commands.import_ import Agent
from packages.setup.importing.peers.peer_files import load_peers
from packages.setup.importing.peers.peer_permissions import _READERS, Unread

CURSOR, COPILOT, QWEN, KIMI, VIBE = ".cursor", ".copilot", ".qwen", ".kimi", ".vibe"
OPENCODE, GOOSE, CRUSH, AMP = (f".config/{each}" for each in ("opencode", "goose", "crush", "amp"))


def write(name: str, content: object) -> None:
    path = Path.home() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def take(agent: str, root: Path) -> tuple[dict[str, Any], str]:
    """Return the settings of an import that is also written, and its lines on what is left."""
    run = CliRunner().invoke
    found = json.loads(run(app, ["import", agent, "--json", "-C", str(root)]).stdout)
    run(app, ["import", agent, "--yes", "-C", str(root)])
    assert load_settings(Home.from_environment(), root, {}, {})
    return found["settings"], "\n".join(found["left"])


def get_hooks(root: Path) -> list[tuple[str, str, str]]:
    found = load_hooks(Home.from_environment(), root).hooks
    return [(each.event, each.dialect, each.refusal) for each in found]


def assert_named(left: str, words: Sequence[str]) -> None:
    for each in words:
        assert each in left, f"{each!r} is not in {left}"


def test_each_agent_of_the_table_is_offered_and_has_a_source() -> None:
    assert set(load_peers()) <= {str(each) for each in Agent}
    for peer in load_peers().values():
        assert peer["version"]
        assert peer["source"]
        assert {*peer.get("rules", {}).values(), *peer.get("permission_file", {}).values()} <= set(_READERS)


@pytest.mark.parametrize("agent", load_peers())
def test_nothing_to_take(agent: str, tmp_path: Path) -> None:
    assert take(agent, tmp_path) == ({}, "")


@pytest.mark.parametrize("agent", load_peers())
@pytest.mark.parametrize("content", ["{", "[1]", '{"a": {"b": [null, {"c": 1}]}}', "\x00\xff"])
def test_files_that_are_broken_or_strange_are_named(agent: str, content: str, tmp_path: Path) -> None:
    peer = load_peers()[agent]
    folder = peer["folder"][1].replace("xdg:", ".config/").replace("~/", "")
    write(f"{folder}/{peer['files'][-1]}", content)
    _, left = take(agent, tmp_path)
    assert peer["files"][-1] in left


def test_cursor(tmp_path: Path) -> None:
    permissions = {
        "allow": ["Shell(git)", "Shell(npm:run *)", "Write(docs/**)", "WebFetch(x.example)", "Mcp(db:*)"],
        "deny": ["Shell(rm)", "Read(.env*)"],
    }
    settings = {"version": 1, "editor": {"vimMode": True}, "permissions": permissions, "network": {}}
    write(f"{CURSOR}/cli-config.json", settings)
    write(f"{CURSOR}/permissions.json", '{"terminalAllowlist": ["ls"], /* mine */ "mcpAllowlist": ["a:b"],}')
    server = {"command": "srv", "env": {"K": "${env:KEY}"}, "envFile": ".env"}
    write(f"{CURSOR}/mcp.json", {"mcpServers": {"a": server, "b": {"command": "${workspaceFolder}/x"}}})
    guard = {"command": "./guard.sh", "matcher": "curl|wget", "failClosed": True}
    hooks = {"beforeShellExecution": [guard], "afterAgentThought": [{"command": "x"}]}
    write(
        f"{CURSOR}/hooks.json", {"version": 1, "hooks": {**hooks, "preToolUse": [{"command": "x", "odd": 1}]}}
    )
    write(f"{CURSOR}/agents/rev.md", "---\ndescription: Reviews\nmodel: fast\nreadonly: true\n---\nLook.")
    write(f"{CURSOR}/commands/ship.md", "Ship it")
    found, left = take("cursor", tmp_path)
    assert found == {
        "terminal.editing": "vi",
        "permissions.allow": [
            *("shell(git *)", "shell(npm run *)", "edit(docs/**)", "network(x.example)", "mcp(db.*)"),
            *("shell(ls *)", "mcp(a.b)"),
        ],
        "permissions.deny": ["shell(rm *)", "read(.env*)"],
        "mcp": {"a": "K=${KEY} srv"},
    }
    assert get_hooks(tmp_path) == [
        ("PreToolUse", "cursor beforeShellExecution", ""),
        ("PreToolUse", "", "its field 'odd' is not known"),
    ]
    home = Home.from_environment()
    agent = load_agents(home, tmp_path).agents["rev"]
    assert (str(agent.mode), agent.model) == ("read-only", "fast")
    assert "ship" in load_commands(home, tmp_path).commands
    assert_named(
        left, ["envFile", "${workspaceFolder}", "thoughts of a model", "'odd' is not known", "network"]
    )


def test_copilot(tmp_path: Path) -> None:
    settings = {
        "effortLevel": "high",
        "deniedUrls": ["https://evil.example/x"],
        "disabledMcpServers": ["off"],
    }
    write(f"{COPILOT}/settings.json", {**settings, "allowedUrls": ["*.npmjs.org"], "disabledSkills": ["bad"]})
    servers = {
        "off": {"type": "local", "command": "o"},
        "one": {"type": "local", "command": "srv", "args": ["a b"], "tools": ["*"]},
        "few": {"type": "http", "url": "https://y.example", "tools": ["t"], "headers": {"A": "${X}"}},
        "none": {"type": "local", "command": "n", "tools": []},
    }
    write(f"{COPILOT}/mcp-config.json", {"mcpServers": servers})
    hook = {"bash": "./g.sh", "powershell": "g.ps1", "cwd": "a b", "env": {"A": "b c"}, "timeoutSec": 5}
    hooks = {"preToolUse": [hook], "errorOccurred": [hook], "userPromptSubmitted": [{"command": "log"}]}
    write(f"{COPILOT}/hooks/a.json", {"version": 1, "hooks": hooks})
    write(f"{COPILOT}/hooks/b.json", {"version": 1, "disableAllHooks": True, "hooks": {"preToolUse": [hook]}})
    write(f"{COPILOT}/agents/sec.agent.md", '---\ndescription: S\ntools: ["read", "gh/list"]\n---\nDo.')
    for each in ("good", "bad"):
        write(f"{COPILOT}/skills/{each}/SKILL.md", "---\nname: x\ndescription: y\n---\nz")
    write(f"{COPILOT}/copilot-instructions.md", "Be brief")
    found, left = take("copilot", tmp_path)
    assert found == {
        "models.effort": "high",
        "permissions.allow": ["network(*.npmjs.org)"],
        "permissions.deny": ["network(evil.example)"],
        "mcp": {
            "one": "srv 'a b'",
            "few": {"url": "https://y.example", "headers": {"A": "${X}"}, "tools": ["t"]},
        },
    }
    [guard, aside] = load_hooks(Home.from_environment(), tmp_path).hooks
    assert guard.runs == "cd -- 'a b' && export A='b c'; ./g.sh"
    assert (guard.timeout, guard.is_strict, guard.is_async) == (5, True, False)
    assert (aside.event, aside.is_async) == ("UserPromptSubmit", True)
    agent = load_agents(Home.from_environment(), tmp_path).agents["sec"]
    assert [each.written for each in agent.tools or ()] == ["Read", "mcp__gh__list"]
    assert (Home.from_environment().config / "skills/good/SKILL.md").is_file()
    assert not (Home.from_environment().config / "skills/bad").exists()
    assert_named(
        left,
        [
            *("`disabledMcpServers`", "none of its tools is switched on", "an error is told to you"),
            *(
                "b.json: hooks: they are switched off",
                "bad: it is switched off",
                "copilot-instructions.md: put",
            ),
        ],
    )


def test_opencode(tmp_path: Path) -> None:
    bash = {"*": "ask", "git *": "allow", "rm *": "deny"}
    settings = {
        "model": "anthropic/claude-opus-4-5",
        "permission": {"bash": bash, "edit": {"*": "deny", "docs/**": "allow"}, "read": {"/etc/**": "deny"}},
        "tools": {"webfetch": False, "db_*": False},
        "mcp": {
            "db": {"type": "local", "command": ["bun", "x"], "environment": {"K": "{env:KEY}"}},
            "off": {"type": "remote", "url": "https://z", "enabled": False},
            "file": {"type": "local", "command": ["x", "{file:./key}"]},
        },
        "agent": {
            "rev": {
                "description": "R",
                "prompt": "P",
                "tools": {"write": False},
                "permission": {"bash": "deny"},
            },
            "lim": {
                "description": "L",
                "prompt": "P",
                "permission": {"bash": {"git *": "allow", "*": "deny"}},
            },
            "gone": {"description": "G", "prompt": "P", "disable": True},
        },
        "command": {"t": {"template": "Test $ARGUMENTS", "description": "d", "agent": "build"}},
        "plugin": ["p"],
        "keybinds": {},
    }
    write(f"{OPENCODE}/opencode.jsonc", f"// mine\n{json.dumps(settings)}")
    write(f"{OPENCODE}/agents/md.md", "---\ndescription: M\nmode: subagent\nmaxSteps: 5\n---\nDo.")
    found, left = take("opencode", tmp_path)
    assert found == {
        "model": "anthropic/claude-opus-4-5",
        "approval": "ask",
        "permissions.allow": ["shell(git *)"],
        "permissions.deny": ["shell(rm *)", "edit(**)", "read(//etc/**)", "network(*)", "mcp(db.*)"],
        "mcp": {"db": "K=${KEY} bun x"},
    }
    agents = load_agents(Home.from_environment(), tmp_path).agents
    assert {each.written for each in agents["rev"].denied} == {"write", "bash"}
    assert agents["md"].max_turns == 5
    assert not {"lim", "gone"} & set(agents)
    assert_named(
        left,
        [
            *(
                "allow Edit(docs/**): Edit is denied as a whole",
                "switched off by `enabled`",
                "lim: not taken",
            ),
            *("gone: not taken", "comes from a file", "command t: there is nothing like it here: agent"),
            *("plugin: plugins are programs", "keybinds"),
        ],
    )


def test_goose(tmp_path: Path) -> None:
    write(
        f"{GOOSE}/config.yaml",
        "GOOSE_PROVIDER: anthropic\nGOOSE_MODEL: claude-sonnet-4-5\nGOOSE_MODE: approve\nGOOSE_TEMPERATURE: 0.7\n"
        "extensions:\n  developer: {enabled: true, type: builtin}\n"
        "  fs: {enabled: true, type: stdio, cmd: fs, args: [a], env_keys: [T], timeout: 30, available_tools: [r]}\n"
        "  out: {enabled: false, type: stdio, cmd: o}\n  far: {type: streamable_http, uri: 'https://f.example'}\n"
        "  sse: {type: sse, uri: 'https://s.example'}\n",
    )
    levels = (
        "user:\n  always_allow: [fs__r]\n  ask_before: [developer__edit]\n  never_allow: [developer__shell]\n"
    )
    write(f"{GOOSE}/permission.yaml", levels)
    guard = {"command": "${PLUGIN_ROOT}/g.sh", "on_failure": "block"}
    hooks = {"PreToolUse": [{"matcher": "developer__shell", "hooks": [guard]}], "PreToolUseResult": []}
    edits = {"AfterFileEdit": [{"matcher": r"\.rs$", "hooks": [{"command": "fmt"}]}]}
    write(".agents/plugins/p/hooks/hooks.json", {"hooks": {**hooks, **edits}})
    found, left = take("goose", tmp_path)
    assert found == {
        "model": "anthropic/claude-sonnet-4-5",
        "approval": "ask",
        "permissions.allow": ["mcp(fs.r)"],
        "permissions.ask": ["edit(**)"],
        "permissions.deny": ["shell(*)"],
        "mcp": {
            "fs": {"command": "T=$T fs a", "call_timeout": 30.0, "tools": ["r"]},
            "far": "https://f.example",
        },
    }
    [guard_hook, edit_hook] = load_hooks(Home.from_environment(), tmp_path).hooks
    assert guard_hook.is_strict
    assert guard_hook.runs.endswith("/.agents/plugins/p/g.sh")
    assert (edit_hook.matcher, edit_hook.subject) == ("Edit|Write", r"\.rs$")
    assert_named(
        left, ["a part of the other agent", "`enabled`", "'sse'", "PreToolUseResult", "GOOSE_TEMPERATURE"]
    )


def test_crush_in_both_of_its_formats(tmp_path: Path) -> None:
    write(
        f"{CRUSH}/crushrc",
        'mcp add gh --type http --url "https://gh.example/mcp" \\\n  --header Authorization "Bearer $PAT" '
        "--disabled-tools create\nmcp add out --command o --disabled true\npermissions allow mcp_gh_get\n"
        'permissions deny bash\nhook add PreToolUse --matcher "^bash$" --command /g.sh\n'
        'if [[ $HOSTNAME == a ]]; then\n  permissions allow edit\nfi\nmcp add x --command "$(id)"\nsource ~/more.sh\n',
    )
    write(f"{CRUSH}/crush.json", {"mcp": {"js": {"type": "stdio", "command": "js", "timeout": 9}}, "lsp": {}})
    found, left = take("crush", tmp_path)
    headers = {"Authorization": "Bearer ${PAT}"}
    assert found == {
        "permissions.allow": ["mcp(gh.get)"],
        "permissions.deny": ["shell(*)"],
        "mcp": {
            "js": {"command": "js", "start_timeout": 9},
            "gh": {"url": "https://gh.example/mcp", "headers": headers, "without_tools": ["create"]},
        },
    }
    assert get_hooks(tmp_path) == [("PreToolUse", "crush PreToolUse", "")]
    assert_named(
        left,
        ["`disabled`", "crushrc:7", "crushrc:8", "'x': a part of it is computed", "source ~/more.sh", "lsp"],
    )


def test_qwen(tmp_path: Path) -> None:
    hook = {"type": "command", "command": "$QWEN_PROJECT_DIR/g.sh", "timeout": 10000, "env": {"Z": "$HOME/1"}}
    settings = {
        "tools": {"approvalMode": "auto-edit", "exclude": ["web_fetch"], "core": ["read_file", "edit"]},
        "permissions": {"allow": ["Bash(git *)", "Edit(/src/**)"], "deny": ["WebFetch(bad.example)"]},
        "mcp": {"excluded": ["OFF"], "allowed": ["off", "py"]},
        "mcpServers": {
            "off": {"command": "o"},
            "py": {
                "command": "p",
                "env": {"D": "$DB"},
                "timeout": 15000,
                "trust": True,
                "excludeTools": ["x"],
            },
            "more": {"command": "m"},
        },
        "hooks": {"PreToolUse": [{"matcher": "WriteFile", "hooks": [hook]}]},
    }
    write(f"{QWEN}/settings.json", settings)
    write(
        f"{QWEN}/agents/a.md",
        "---\ndescription: d\napprovalMode: yolo\ndisallowedTools: [write_file]\n---\nb",
    )
    write(f"{QWEN}/commands/old.toml", 'prompt = "Do {{args}}"')
    found, left = take("qwen", tmp_path)
    assert found == {
        "approval": "auto",
        "permissions.allow": ["shell(git *)", "edit(src/**)", "mcp(py.*)"],
        "permissions.deny": ["network(bad.example)", "network(*)", "shell(*)"],
        "mcp": {"py": {"command": "D=${DB} p", "call_timeout": 15.0, "without_tools": ["x"]}},
    }
    [guard] = load_hooks(Home.from_environment(), tmp_path).hooks
    assert (guard.timeout, guard.runs) == (10, 'export Z="$HOME/1"; $QWEN_PROJECT_DIR/g.sh')
    assert "old" in load_commands(Home.from_environment(), tmp_path).commands
    assert_named(
        left,
        [
            "`mcp.excluded`",
            "`mcp.allowed`, which does not name it",
            "approvalMode",
            "only read_file",
        ],
    )


def test_hooks_of_qwen_that_are_switched_off(tmp_path: Path) -> None:
    hooks = {"PreToolUse": [{"hooks": [{"command": "g"}]}]}
    write(f"{QWEN}/settings.json", {"disableAllHooks": True, "hooks": hooks})
    _, left = take("qwen", tmp_path)
    assert not get_hooks(tmp_path)
    assert_named(left, ["switched off by `disableAllHooks`"])


def test_kimi(tmp_path: Path) -> None:
    write(
        f"{KIMI}/config.toml",
        'default_plan_mode = true\ndefault_yolo = true\ntheme = "light"\n[[hooks]]\nevent = "PreToolUse"\n'
        'matcher = "Shell"\ncommand = "g.sh"\n[[hooks]]\nevent = "Weird"\ncommand = "x"\n[mcp.client]\nt = 5\n',
    )
    servers = {
        "c": {"url": "https://c.example", "transport": "http", "headers": {"K": "secret"}},
        "v": {"command": "x", "args": ["${HOME}"]},
        "s": {"url": "https://s.example", "transport": "sse"},
    }
    write(f"{KIMI}/mcp.json", {"mcpServers": servers})
    found, left = take("kimi", tmp_path)
    assert found == {
        "mode": "read-only",
        "terminal.theme": "light",
        "mcp": {"c": {"url": "https://c.example", "headers": {"K": "$C_K"}}},
    }
    assert get_hooks(tmp_path) == [("PreToolUse", "kimi PreToolUse", "")]
    assert_named(left, ["default_yolo true", "'Weird'", "`${…}` in it is text there", "'sse'", "mcp"])


def test_vibe(tmp_path: Path) -> None:
    write(
        f"{VIBE}/config.toml",
        'default_agent = "accept-edits"\ndisabled_tools = ["db_*", "re:^x"]\nenable_experimental_hooks = true\n'
        'disabled_agents = ["no*"]\n[tools.bash]\npermission = "ask"\nallowlist = ["git diff"]\ndenylist = ["rm"]\n'
        '[tools.web_fetch]\npermission = "never"\n[[mcp_servers]]\nname = "db"\ntransport = "stdio"\n'
        'command = "srv --x"\nargs = ["a"]\n[[mcp_servers]]\nname = "h"\ntransport = "http"\nurl = "https://h"\n'
        'api_key_env = "MY"\n[[mcp_servers]]\nname = "out"\ntransport = "stdio"\ncommand = "o"\ndisabled = true\n',
    )
    write(
        f"{VIBE}/hooks.toml",
        '[[hooks]]\nname = "d"\ntype = "before_tool"\nmatch = "bas*"\ncommand = "g"\nstrict = true\n'
        '[[hooks]]\nname = "t"\ntype = "post_agent_turn"\ncommand = "t"\n',
    )
    for name in ("red", "nope"):
        profile = f'agent_type = "subagent"\ndescription = "{name}"\nsystem_prompt_id = "p"\n'
        write(f"{VIBE}/agents/{name}.toml", f'{profile}disabled_tools = ["edit"]\n')
    write(f"{VIBE}/agents/whole.toml", 'description = "w"\n')
    write(f"{VIBE}/prompts/p.md", "Be red")
    found, left = take("vibe", tmp_path)
    assert found == {
        "approval": "ask",
        "permissions.allow": ["shell(git diff *)"],
        "permissions.deny": ["shell(rm *)", "network(*)", "mcp(db.*)"],
        "mcp": {
            "db": "srv --x a",
            "h": {"url": "https://h", "headers": {"Authorization": "Bearer ${MY}"}},
        },
    }
    [guard, end] = load_hooks(Home.from_environment(), tmp_path).hooks
    assert guard.is_strict
    assert [guard.matches(("Bash",), {}), guard.matches(("Read",), {})] == [True, False]
    assert end.event == "Stop"
    agents = load_agents(Home.from_environment(), tmp_path).agents
    assert agents["red"].instructions == "Be red"
    assert "nope" not in agents
    assert_named(left, ["re:^x", "`disabled`", "nope.toml: it is switched off", "whole.toml: not taken"])


def test_hooks_of_vibe_need_their_switch(tmp_path: Path) -> None:
    write(f"{VIBE}/hooks.toml", '[[hooks]]\nname = "d"\ntype = "before_tool"\ncommand = "g"\n')
    _, left = take("vibe", tmp_path)
    assert not get_hooks(tmp_path)
    assert_named(left, ["switched off by `enable_experimental_hooks`"])


def test_amp(tmp_path: Path) -> None:
    rules = [
        {"tool": "Bash", "matches": {"cmd": "*git commit*"}, "action": "ask"},
        {"tool": "Bash", "matches": {"cmd": ["*python *"]}, "action": "reject"},
        {"tool": "Bash", "matches": {"cmd": "/^ls/"}, "action": "reject"},
        {"tool": "edit_file", "matches": {"path": "/etc/*"}, "action": "reject"},
        {"tool": "*", "action": "delegate", "to": "helper"},
        {"tool": "mcp__db__drop", "action": "reject"},
    ]
    settings = {
        "amp.permissions": rules,
        "amp.tools.disable": ["read_web_page", "finder"],
        "amp.mcpServers": {
            "pw": {"command": "pw", "includeTools": ["a"]},
            "bad": {"url": "https://bad.example"},
        },
        "amp.mcpPermissions": [{"matches": {"url": "https://bad*"}, "action": "reject"}],
        "amp.dangerouslyAllowAll": True,
    }
    write(f"{AMP}/settings.json", settings)
    found, left = take("amp", tmp_path)
    assert found == {
        "permissions.ask": ["shell(*git commit*)"],
        "permissions.deny": ["shell(*python *)", "edit(//etc/*)", "mcp(db.drop)", "network(*)"],
        "mcp": {"pw": {"command": "pw", "tools": ["a"]}},
    }
    assert_named(
        left, ["regular expression", "hook of PreToolUse", "finder", "`amp.mcpPermissions`", "AllowAll"]
    )


@pytest.mark.parametrize("kind", _READERS)
@pytest.mark.parametrize(
    "value", [None, 7, "x", [], {}, [None, 3, {}], {"a": None, "b": [1], "c": {"d": {}}}]
)
def test_permissions_of_any_shape_are_read_or_named(kind: str, value: object) -> None:
    for each in _READERS[kind](value, ["db"]):
        assert isinstance(each, Unread) or each.verdict in ("allow", "ask", "deny")


def test_hooks_of_gemini(tmp_path: Path) -> None:
    hooks = {
        "BeforeTool": [
            {
                "matcher": "run_shell_command",
                "sequential": True,
                "hooks": [
                    {"type": "command", "command": "g.sh", "name": "guard", "timeout": 5000},
                    {"type": "command", "command": "o.sh", "name": "out"},
                ],
            }
        ],
        "BeforeModel": [{"hooks": [{"type": "command", "command": "m"}]}],
    }
    write(".gemini/settings.json", {"hooks": hooks, "hooksConfig": {"disabled": ["out"]}})
    _, left = take("gemini", tmp_path)
    [guard] = load_hooks(Home.from_environment(), tmp_path).hooks
    assert (guard.dialect, guard.timeout, guard.refusal) == ("gemini BeforeTool", 5, "")
    assert_named(left, ["'out' of BeforeTool: it is switched off", "requests to a model are not shown"])
