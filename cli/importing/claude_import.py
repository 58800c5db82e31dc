"""What users set up for Claude Code: `~/.claude` and `~/.claude.json`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cli.importing.foreign_rules import add_rule
from cli.importing.import_plan import ImportPlan, add_servers, format_toml, read_json
from cli.settings.settings_files import SERVER_FILE
from sandbox.policy.rules import PERMISSIONS

_TAKEN = {"permissions", "model", "hooks", "$schema", "mcpServers"}


def read_claude(root: Path) -> ImportPlan:
    """Return what can be taken over. root: of the project, whose servers in `~/.claude.json` are taken, too"""
    plan = ImportPlan()
    user = Path("~").expanduser()
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or user / ".claude")
    settings = read_json(folder / "settings.json", plan)
    source = str(folder / "settings.json")
    plan.set_model("model", settings.get("model"), source)
    _add_permissions(plan, settings.get("permissions"), source)
    plan.leave_unknown(settings, _TAKEN, source)
    if isinstance(settings.get("hooks"), dict):
        import json

        from agent.extension.hooks.hook_definition import EVENTS
        from agent.extension.hooks.hook_parser import parse_hooks

        found = parse_hooks(settings, source, plan.left, is_project=False)
        plan.shown += [f"{each.label}: {each.shown}" for each in found if not each.refusal]
        known = {event: each for event, each in settings["hooks"].items() if event in EVENTS}
        text = json.dumps({"hooks": known}, indent=2, ensure_ascii=False)
        plan.files["agent-hooks.json"] = f"{text}\n".encode()
    state = read_json(user / ".claude.json", plan)
    add_servers(plan, state.get("mcpServers"), "~/.claude.json")
    projects = state.get("projects")
    here = projects.get(str(root)) if isinstance(projects, dict) else None
    add_servers(plan, here.get("mcpServers") if isinstance(here, dict) else None, "~/.claude.json")
    for name in ("commands", "agents"):
        plan.add_files(folder / name, name)
    plan.add_files(folder / "skills", "skills", "")
    if (folder / "CLAUDE.md").is_file():
        plan.left.append(f"{folder / 'CLAUDE.md'}: put what holds for a project into its AGENTS.md")
    servers = (
        read_json(root / SERVER_FILE, plan).get("mcpServers") if (root / SERVER_FILE).is_file() else None
    )
    if isinstance(servers, dict) and servers:
        plan.left.append(
            f"{SERVER_FILE} of this project ({', '.join(map(str, servers))}): patchwright import mcp takes its servers"
        )
    return plan


def _add_permissions(plan: ImportPlan, given: Any, source: str) -> None:
    permissions = given if isinstance(given, dict) else {}
    for verdict in PERMISSIONS:
        rules = permissions.get(verdict)
        for each in rules if isinstance(rules, list) else ():
            add_rule(plan, str(each), verdict, source)
    mode = permissions.get("defaultMode", "")
    if mode == "plan":
        plan.set_value("mode", "read-only")
    elif mode == "default":
        plan.set_value("approval", "ask")
    elif mode == "bypassPermissions":
        plan.left.append(f"{source}: defaultMode {mode}: it lifts every bound; set `mode` to full yourself")
    folders = permissions.get("additionalDirectories")
    for each in folders if isinstance(folders, list) else ():
        plan.left.append(
            f"{source}: additionalDirectories {format_toml(each)}: name it in `visible_paths` to show it"
        )
