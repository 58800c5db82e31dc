"""Plugin folders in both formats, as their documents lay them out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.cli import CHECKOUT

SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"


def write(folder: Path, files: dict[str, object]) -> Path:
    """Write files by name; tables as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def make_neutral(folder: Path, **manifest: object) -> Path:
    """Make a plugin of Agent Plugins 1.0.0: a skill and a server, which answers with its environment."""
    server = {"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/server.py", "tells"]}
    far = {"type": "streamable-http", "url": "http://127.0.0.1:9/mcp"}
    out = {"type": "stdio", "command": "../server"}
    write(
        folder,
        {
            "plugin.json": {"$schema": SCHEMA, "name": "calc", "version": "1.0.0", **manifest},
            "mcp.json": {
                "$schema": SCHEMA.replace("plugin.schema", "mcp.schema"),
                "mcpServers": {
                    "sums": {**server, "env": {"STORE": "${PLUGIN_DATA}/s", "KEY": "${HOME}"}},
                    "far": far,
                    "out": out,
                },
            },
            "skills/adding/SKILL.md": "---\nname: adding\ndescription: Adds numbers\n---\nRun scripts/add.sh.\n",
            "skills/adding/scripts/add.sh": "echo $(($1 + $2))\n",
            "skills/adding/deep/inner/SKILL.md": "---\nname: inner\ndescription: d\n---\nx\n",
        },
    )
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", folder / "server.py")
    return folder


def make_vendor(folder: Path, **manifest: object) -> Path:
    """Make a plugin in Claude Code's layout: a skill, commands, an agent, hooks and a server behind an address."""
    hook = {"type": "command", "command": 'python3 "${CLAUDE_PLUGIN_ROOT}/hooks/guard.py"', "timeout": 20}
    web = {"type": "http", "url": "https://example.com/hook"}
    return write(
        folder,
        {
            ".claude-plugin/plugin.json": {"name": "Guard", "description": "Guards", **manifest},
            "hooks/hooks.json": {
                "description": "Guards commands",
                "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook, web]}]},
            },
            "hooks/guard.py": (
                "import json, os, sys\n"
                "given = json.load(sys.stdin)\n"
                "open(os.environ['PLUGIN_DATA'] + '/seen', 'a').write(given['tool_name'])\n"
                "if 'forbidden' in given['tool_input']['command']:\n"
                "    sys.stderr.write(open(os.environ['CLAUDE_PLUGIN_ROOT'] + '/why.txt').read())\n"
                "    sys.exit(2)\n"
            ),
            "why.txt": "the guard says no\n",
            "commands/look.md": "---\ndescription: Looks\n---\n"
            "Look: !`cat ${CLAUDE_PLUGIN_ROOT}/why.txt` at $1\n",
            "commands/git/log.md": "Show the log.\n",
            "agents/judge.md": "---\nname: judge\ndescription: Judges\ntools: Read, Grep\n---\nJudge it.\n",
            "skills/care/SKILL.md": "---\nname: care\ndescription: Takes care\n---\n"
            "See ${CLAUDE_PLUGIN_ROOT}/why.txt\n",
            ".mcp.json": {"web": {"type": "http", "url": "http://127.0.0.1:9/mcp"}},
        },
    )
