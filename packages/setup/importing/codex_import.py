"""What users set up for Codex: `~/.codex/config.toml`, prompts and skills."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.model.model_settings import EFFORTS
from packages.setup.importing.codex_parts import add_agents, add_command_rules, add_hook_files, read_toml
from packages.setup.importing.import_plan import ImportPlan, add_servers, get_table

_PROVIDER_FIELDS = {"name", "base_url", "env_key", "env_key_instructions", "wire_api"}
_APPROVALS = {
    "untrusted": "ask",
    "on-request": "auto",
    "on-failure": "auto",
    "never": "never",
}
_TAKEN = {
    "model",
    "model_provider",
    "model_providers",
    "model_reasoning_effort",
    "approval_policy",
    "sandbox_mode",
    "sandbox_workspace_write",
    "mcp_servers",
    "projects",
    "skills",
    "hooks",
}


def read_codex(root: Path) -> ImportPlan:
    """Return what can be taken over."""
    plan = ImportPlan()
    folder = Path(os.environ.get("CODEX_HOME") or Path("~/.codex").expanduser())
    source = str(folder / "config.toml")
    settings = read_toml(folder / "config.toml", plan)
    provider = str(settings.get("model_provider") or "openai")
    model = settings.get("model")
    if provider == "openai":
        plan.set_model("model", model, source)
    else:
        _add_provider(plan, settings, provider, model, source)
    if (effort := str(settings.get("model_reasoning_effort"))) in EFFORTS:
        plan.set_value("models.effort", effort)
    if (approval := _APPROVALS.get(str(settings.get("approval_policy")))) is not None:
        plan.set_value("approval", approval)
    mode = settings.get("sandbox_mode")
    if mode == "read-only":
        plan.set_value("mode", "read-only")
    elif mode == "danger-full-access":
        plan.left.append(f"{source}: sandbox_mode {mode}: it lifts every bound; set `mode` to full yourself")
    write = settings.get("sandbox_workspace_write")
    if isinstance(write, dict) and write.get("network_access"):
        plan.left.append(f"{source}: network_access: name the hosts that commands may reach in `network`")
    if isinstance(write, dict) and write.get("writable_roots"):
        plan.left.append(f"{source}: writable_roots: commands write in the workspace only")
    if others := sorted(set(get_table(settings, "model_providers")) - {provider}):
        plan.left.append(f"{source}: model_providers: only the one in use is taken: {', '.join(others)}")
    add_servers(plan, settings.get("mcp_servers"), source, _explain_variables)
    plan.leave_unknown(settings, _TAKEN, source)
    add_command_rules(plan, folder / "rules")
    add_hook_files(plan, folder, settings)
    add_agents(plan, folder / "agents")
    plan.add_files(folder / "prompts", "commands")
    plan.add_files(folder / "skills", "skills", "", _find_off_skills(settings))
    if (folder / "AGENTS.md").is_file():
        plan.left.append(f"{folder / 'AGENTS.md'}: put what holds for a project into its AGENTS.md")
    return plan


def _add_provider(
    plan: ImportPlan, settings: dict[str, Any], provider: str, model: object, source: str
) -> None:
    found = get_table(settings.get("model_providers"), provider)
    base = found.get("base_url")
    if isinstance(base, str) and isinstance(model, str):
        wire = "openai_responses" if found.get("wire_api") == "responses" else "openai"
        plan.set_value("model", f"{wire}/{model}")
        plan.set_value("api_base", base)
        plan.left.append(f"{source}: the key of {provider!r}: export it as OPENAI_API_KEY")
        plan.leave_unknown(found, _PROVIDER_FIELDS, f"{source}: model_providers.{provider}")
    else:
        plan.left.append(f"{source}: the model {model!r} of {provider!r}: set `model` to a name of ours")


def _explain_variables(name: str, entry: Mapping[str, Any]) -> str:
    """Return why a server that has `${NAME}` in its texts is not taken: there they are no variables."""
    return "`${…}` in it is text there, and would be a variable here" if "${" in str(entry) else ""


def _find_off_skills(settings: dict[str, Any]) -> dict[str, str]:
    """Return the folders of skills that are switched off, by their path or name."""
    entries = get_table(settings, "skills").get("config")
    off = {}
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and each.get("enabled", True) is not True:
            path = Path(str(each.get("path") or each.get("name")))
            off[path.parent.name if path.name == "SKILL.md" else path.name] = "`skills.config`"
    return off
