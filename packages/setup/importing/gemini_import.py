"""What users set up for Gemini CLI: `~/.gemini/settings.json` and its commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.gemini_parts import add_agents, add_policies, add_skills, name_extensions
from packages.setup.importing.hook_import import add_foreign_hooks
from packages.setup.importing.import_plan import ImportPlan, add_servers, get_names, get_table, read_json
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.parsed_data import parse_toml

_TAKEN = {
    *(
        "general",
        "model",
        "tools",
        "mcp",
        "mcpServers",
        "ui",
        "vimMode",
        "excludeTools",
        "allowedTools",
        "theme",
    ),
    *("allowMCPServers", "excludeMCPServers", "admin", "skills", "agents", "hooks", "hooksConfig"),
}
_KNOWN_BELOW = (
    ("general", {"vimMode", "defaultApprovalMode"}),
    ("tools", {"allowed", "exclude"}),
    ("mcp", {"allowed", "excluded"}),
    ("admin", {"mcp", "skills"}),
    ("skills", {"enabled", "disabled"}),
    ("agents", {"overrides"}),
    ("hooksConfig", {"enabled", "disabled"}),
)
"""Tables of which some fields are taken."""

_SWITCHES = "mcp-server-enablement.json"
"""File in which `/mcp disable` switches servers off."""

_MODES: dict[str, tuple[str, str]] = {
    "plan": ("mode", "read-only"),
    "auto_edit": ("approval", "auto"),
    "default": ("approval", "ask"),
}


def read_gemini(root: Path) -> ImportPlan:
    """Return what can be taken over."""
    plan = ImportPlan()
    folder = Path("~/.gemini").expanduser()
    source = str(folder / "settings.json")
    settings = read_json(folder / "settings.json", plan)
    general, tools = get_table(settings, "general"), get_table(settings, "tools")
    model = settings.get("model")
    plan.set_model("model", model.get("name") if isinstance(model, dict) else model, source)
    if general.get("vimMode") or settings.get("vimMode") is True:
        plan.set_value("terminal.editing", "vi")
    if (mode := _MODES.get(str(general.get("defaultApprovalMode")))) is not None:
        plan.set_value(*mode)
    for each in (*get_names(tools, "allowed"), *get_names(settings, "allowedTools")):
        add_rule(plan, each, "allow", source)
    for each in (*get_names(tools, "exclude"), *get_names(settings, "excludeTools")):
        add_rule(plan, each, "deny", source)
    servers = {
        name: _mark_variables(each)
        for name, each in get_table(settings, "mcpServers").items()
        if isinstance(each, dict)
    }
    add_servers(plan, servers, source, _explain_off_servers(settings, folder / _SWITCHES, plan))
    plan.leave_unknown(settings, _TAKEN, source)
    for name, known in _KNOWN_BELOW:
        plan.leave_unknown(get_table(settings, name), known, f"{source} {name}")
    plan.leave_unknown(get_table(settings, "ui"), set(), f"{source} ui")
    add_commands(plan, folder / "commands")
    add_policies(plan, folder / "policies")
    _add_hooks(plan, settings, source, folder)
    add_skills(plan, folder / "skills", settings)
    add_agents(plan, folder / "agents", settings)
    name_extensions(plan, folder / "extensions")
    if (folder / "GEMINI.md").is_file():
        plan.left.append(f"{folder / 'GEMINI.md'}: put what holds for a project into its AGENTS.md")
    return plan


def _add_hooks(plan: ImportPlan, settings: dict[str, Any], source: str, folder: Path) -> None:
    """Take hooks, but those that are switched off by their name or command."""
    config = get_table(settings, "hooksConfig")
    if not settings.get("hooks"):
        return
    if config.get("enabled", True) is not True:
        plan.left.append(f"{source}: hooks: they are switched off by `hooksConfig.enabled`")
        return
    off = set(get_names(config, "disabled"))
    kept: dict[str, list[Any]] = {}
    for event, groups in get_table(settings, "hooks").items():
        for group in groups if isinstance(groups, list) else [groups]:
            hooks = group.get("hooks") if isinstance(group, dict) else None
            entries = hooks if isinstance(hooks, list) else []
            names = [_list_names(each) & off for each in entries]
            plan.left += [
                f"{source}: the hook {min(found)!r} of {event}: it is switched off by `hooksConfig.disabled`"
                for found in names
                if found
            ]
            left = [each for each, found in zip(entries, names, strict=True) if not found]
            if left or not entries:
                kept.setdefault(event, []).append({**group, "hooks": left} if entries else group)
    add_foreign_hooks(plan, "gemini", {"hooks": kept}, source, folder)


def _list_names(hook: object) -> set[str]:
    given = hook if isinstance(hook, dict) else {}
    return {str(given[key]) for key in ("name", "command") if key in given}


def _mark_variables(entry: Any) -> Any:
    """Return a server with `$NAME` in its command line or address as `${NAME}`: there both are variables.

    A `$` in other values may be part of a password.
    """
    if isinstance(entry, str):
        return re.sub(r"\$([A-Za-z_][A-Za-z0-9_]*)", r"${\1}", entry)
    if isinstance(entry, list):
        return [_mark_variables(each) for each in entry]
    marked = {
        key: _mark_variables(entry[key]) for key in ("command", "args", "url", "httpUrl") if key in entry
    }
    return {**entry, **marked}


def _explain_off_servers(
    settings: dict[str, Any], switches: Path, plan: ImportPlan
) -> Callable[[str, Mapping[str, Any]], str]:
    """Return what explains why a server is switched off. Names count there without capitals."""
    mcp, before = settings.get("mcp"), len(plan.left)
    off = {
        each.lower().strip()
        for each in (*get_names(mcp, "excluded"), *get_names(settings, "excludeMCPServers"))
    }
    allowed = get_table(settings, "mcp").get("allowed", settings.get("allowMCPServers"))
    names = {str(each).lower().strip() for each in allowed} if isinstance(allowed, list) else set()
    table = read_json(switches, plan)
    has_switches = len(plan.left) == before  # in a file that cannot be read any server may be off

    def explain(name: str, entry: Mapping[str, Any]) -> str:
        key = name.lower().strip()
        if get_table(get_table(settings, "admin"), "mcp").get("enabled", True) is not True:
            return "it is switched off by `admin.mcp.enabled`"
        if key in off:
            return "it is switched off by `mcp.excluded`"
        if allowed and key not in names:
            return "it is switched off by `mcp.allowed`, which does not name it"
        if not has_switches:
            return f"it may be switched off: {switches} cannot be read"
        state: object = next((each for given, each in table.items() if given.lower().strip() == key), {})
        is_on = isinstance(state, dict) and state.get("enabled", True) is True
        return "" if is_on else f"it is switched off by {switches}"

    return explain


def add_commands(plan: ImportPlan, folder: Path) -> None:
    """Take commands, which are TOML there, as Markdown."""
    for path in sorted(folder.rglob("*.toml")) if folder.is_dir() else ():
        try:
            found = parse_toml((read_regular_file(path, SETTINGS) or b"").decode("utf-8"))
            text = convert_command(str(found["prompt"]), str(found.get("description") or ""))
        except UserError as error:
            plan.left.append(error.message)
        except (ValueError, KeyError):
            plan.left.append(f"{path}: it is no command of Gemini: it needs `prompt`")
        else:
            name = path.relative_to(folder).with_suffix(".md").as_posix()
            plan.files[f"commands/{name}"] = text.encode()


def convert_command(prompt: str, description: str) -> str:
    """Return a command of Gemini as Markdown: `{{args}}`, `!{command}` and `@{path}` have other spellings here."""
    text = re.sub(r"!\{([^{}]*(?:\{\{args\}\}[^{}]*)?)\}", r"!`\1`", prompt)
    text = re.sub(r"@\{([^{}]+)\}", r"@\1", text)
    return write_command(text.replace("{{args}}", "$ARGUMENTS"), description)


def write_command(text: str, description: str) -> str:
    """Return a command as Markdown."""
    import json

    head = f"---\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n\n" if description else ""
    return f"{head}{text.strip()}\n"
