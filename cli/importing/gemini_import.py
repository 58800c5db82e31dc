"""What users set up for Gemini CLI: `~/.gemini/settings.json` and its commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cli.importing.foreign_rules import add_rule
from cli.importing.import_plan import ImportPlan, add_servers, read_json
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file

_TAKEN = {"general", "model", "tools", "mcpServers", "ui", "vimMode", "excludeTools", "allowedTools", "theme"}
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
    general, tools = _get_table(settings, "general"), _get_table(settings, "tools")
    model = settings.get("model")
    plan.set_model("model", model.get("name") if isinstance(model, dict) else model, source)
    if general.get("vimMode") or settings.get("vimMode") is True:
        plan.set_value("terminal.editing", "vi")
    if (mode := _MODES.get(str(general.get("defaultApprovalMode")))) is not None:
        plan.set_value(*mode)
    for each in (*_get_list(tools, "allowed"), *_get_list(settings, "allowedTools")):
        add_rule(plan, each, "allow", source)
    for each in (*_get_list(tools, "exclude"), *_get_list(settings, "excludeTools")):
        add_rule(plan, each, "deny", source)
    add_servers(plan, settings.get("mcpServers"), source)
    plan.leave_unknown(settings, _TAKEN, source)
    for name, known in (("general", {"vimMode", "defaultApprovalMode"}), ("tools", {"allowed", "exclude"})):
        plan.leave_unknown(_get_table(settings, name), known, f"{source} {name}")
    plan.leave_unknown(_get_table(settings, "ui"), set(), f"{source} ui")
    _add_commands(plan, folder / "commands")
    if (folder / "GEMINI.md").is_file():
        plan.left.append(f"{folder / 'GEMINI.md'}: put what holds for a project into its AGENTS.md")
    return plan


def _add_commands(plan: ImportPlan, folder: Path) -> None:
    """Take commands, which are TOML there, as Markdown."""
    import tomllib

    for path in sorted(folder.rglob("*.toml")) if folder.is_dir() else ():
        try:
            found = tomllib.loads((read_regular_file(path, SETTINGS) or b"").decode("utf-8"))
            text = convert_command(str(found["prompt"]), str(found.get("description") or ""))
        except UserError as error:
            plan.left.append(error.message)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError):
            plan.left.append(f"{path}: it is no command of Gemini: it needs `prompt`")
        else:
            name = path.relative_to(folder).with_suffix(".md").as_posix()
            plan.files[f"commands/{name}"] = text.encode()


def convert_command(prompt: str, description: str) -> str:
    """Return a command of Gemini as Markdown: `{{args}}`, `!{command}` and `@{path}` have other spellings here."""
    text = re.sub(r"!\{([^{}]*(?:\{\{args\}\}[^{}]*)?)\}", r"!`\1`", prompt)
    text = re.sub(r"@\{([^{}]+)\}", r"@\1", text)
    text = text.replace("{{args}}", "$ARGUMENTS").strip()
    import json

    head = f"---\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n\n" if description else ""
    return f"{head}{text}\n"


def _get_table(settings: dict[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}


def _get_list(settings: dict[str, Any], name: str) -> list[str]:
    found = settings.get(name)
    return [str(each) for each in found] if isinstance(found, list) else []
