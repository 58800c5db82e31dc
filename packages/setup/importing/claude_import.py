"""What users set up for Claude Code: `~/.claude` and `~/.claude.json`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cli.settings.settings_files import SERVER_FILE
from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.hook_import import add_hooks
from packages.setup.importing.import_plan import (
    ImportPlan,
    add_servers,
    format_toml,
    get_names,
    get_table,
    read_json,
)
from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.policy.rules import PERMISSIONS

_TAKEN = {
    *("permissions", "model", "hooks", "$schema", "mcpServers", "disableAllHooks", "skillOverrides"),
    *("allowedMcpServers", "deniedMcpServers", "disabledMcpjsonServers"),
}


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
    add_hooks(plan, settings, source)
    state = read_json(user / ".claude.json", plan)
    here = get_table(get_table(state, "projects"), str(root))
    explain_off = _explain_off_servers(settings, get_names(here, "disabledMcpServers"))
    add_servers(plan, state.get("mcpServers"), "~/.claude.json", explain_off)
    add_servers(plan, here.get("mcpServers"), "~/.claude.json", explain_off)
    _name_elsewhere_off(plan, state, str(root))
    if rules := sorted(each.name for each in (folder / "rules").glob("*.md")):
        plan.left.append(
            f"{folder / 'rules'}: put what holds for a project into its AGENTS.md: {', '.join(rules)}"
        )
    plan.add_files(folder / "commands", "commands")
    plan.add_files(folder / "agents", "agents", off=_find_off_agents(settings, folder / "agents"))
    plan.add_files(folder / "skills", "skills", "", _find_off_skills(settings, plan, source))
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


def find_off_shared_servers(root: Path, plan: ImportPlan) -> Callable[[str, Mapping[str, Any]], str]:
    """Return what explains why a server of the project's `.mcp.json` is switched off."""
    user = Path("~").expanduser()
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or user / ".claude")
    settings = read_json(folder / "settings.json", plan)
    here = get_table(get_table(read_json(user / ".claude.json", plan), "projects"), str(root))
    off = [*get_names(here, "disabledMcpServers"), *get_names(here, "disabledMcpjsonServers")]
    for each in (settings, *(read_json(root / name, plan) for name in _PROJECT_SETTINGS)):
        off += get_names(each, "disabledMcpjsonServers")
    return _explain_off_servers(settings, off)


_PROJECT_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")


def _explain_off_servers(
    settings: Mapping[str, Any], off: list[str]
) -> Callable[[str, Mapping[str, Any]], str]:
    """Return what explains why a server is switched off. off: names of servers that are not used in this project"""
    denied, allowed = settings.get("deniedMcpServers"), settings.get("allowedMcpServers")

    def explain(name: str, entry: Mapping[str, Any]) -> str:
        if name in off:
            return "it is switched off by the list of those not used in this project"
        if any(_matches(rule, name, entry) for rule in denied or ()):
            return "it is switched off by `deniedMcpServers`"
        if allowed is not None and not any(_matches(rule, name, entry) for rule in allowed):
            return "it is switched off by `allowedMcpServers`, which does not name it"
        return ""

    return explain


def _matches(rule: object, name: str, entry: Mapping[str, Any]) -> bool:
    given = rule if isinstance(rule, dict) else {"serverName": rule}
    line = [entry.get("command"), *get_names(entry, "args")]
    url = given.get("serverUrl")
    return (
        given.get("serverName") == name
        or given.get("serverCommand") == line
        or (isinstance(url, str) and fnmatchcase(str(entry.get("url")), url))
    )


def _name_elsewhere_off(plan: ImportPlan, state: Mapping[str, Any], root: str) -> None:
    """Name the servers that are taken, and that are switched off in other projects."""
    for project, each in get_table(state, "projects").items():
        off = [name for name in get_names(each, "disabledMcpServers") if name in plan.settings.get("mcp", {})]
        if off and project != root:
            plan.left.append(
                f"~/.claude.json: {', '.join(off)} is off in {project}: here a server is on in all projects"
            )


def _find_off_skills(settings: Mapping[str, Any], plan: ImportPlan, source: str) -> dict[str, str]:
    off = dict.fromkeys(_find_denied(settings, "Skill"), "the permission rule that denies it")
    for name, state in get_table(settings, "skillOverrides").items():
        if state == "off":
            off[name] = "`skillOverrides`"
        elif state != "on":
            plan.left.append(f"{source}: skillOverrides: {name}: there is nothing like {state!r} here")
    return off


def _find_off_agents(settings: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the files of the agents that a permission rule denies; an agent's name need not be its file's."""
    denied = {*_find_denied(settings, "Agent"), *_find_denied(settings, "Task")}
    if not denied:
        return {}
    from agent.extension.front_matter import BadFrontMatter, split_front_matter

    off = {}
    for path in folder.glob("*.md"):
        try:
            content = read_regular_file(path, SOURCE) or b""
            found = split_front_matter(content.decode("utf-8", "replace"))
        except (UserError, BadFrontMatter):
            found = None
        name = str((found[0] if found is not None else {}).get("name") or path.stem)
        if denied & {name, path.stem}:
            off[path.stem] = "the permission rule that denies it"
    return off


def _find_denied(settings: Mapping[str, Any], tool: str) -> list[str]:
    """Return the names in the deny rules of a tool, such as `Skill(NAME)` and `Skill(NAME *)`."""
    rules = get_names(settings.get("permissions"), "deny")
    found = (re.fullmatch(rf"{tool}\(([^()]+?)(?::?\s*\*)?\)", rule.strip()) for rule in rules)
    return [match[1].strip() for match in found if match is not None]


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
