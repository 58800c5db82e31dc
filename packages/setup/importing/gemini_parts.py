"""What users set up for Gemini CLI beside its settings: policies, agents, skills and extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packages.setup.importing.codex_parts import read_toml
from packages.setup.importing.foreign_rules import add_rule
from packages.setup.importing.import_plan import ImportPlan, get_names, get_table
from sandbox.policy.rules import Permission

_DECISIONS: Mapping[str, Permission] = {"allow": "allow", "ask_user": "ask", "deny": "deny"}
_RULE_FIELDS = {"toolName", "mcpName", "commandPrefix", "decision", "priority", "denyMessage", "deny_message"}
_SHELL = "run_shell_command"


def add_policies(plan: ImportPlan, folder: Path) -> None:
    """Take the rules of policy files. Here the strictest one of several counts, whatever their priority."""
    for path in sorted(folder.glob("*.toml")):
        rules = read_toml(path, plan).get("rule", [])
        for number, rule in enumerate(rules if isinstance(rules, list) else [rules], 1):
            source = f"{path}: rule {number}"
            try:
                verdict, texts = _read_policy(rule if isinstance(rule, dict) else {})
            except ValueError as error:
                plan.left.append(f"{source}: {error}")
                continue
            for text in texts:
                add_rule(plan, text, verdict, source)


def _read_policy(rule: Mapping[str, Any]) -> tuple[Permission, list[str]]:
    """Return a rule's verdict, and what it is for as rules of Claude Code write it. Raises ValueError."""
    verdict = _DECISIONS.get(str(rule.get("decision")))
    if verdict is None:
        raise ValueError(f"its decision {rule.get('decision')!r} is none of {', '.join(_DECISIONS)}")
    if unknown := sorted(set(rule) - _RULE_FIELDS):
        raise ValueError(f"a rule with {', '.join(unknown)} has no counterpart here")
    texts = list(_list_targets(rule))
    if not texts:
        raise ValueError("it names no tool: the mode and `approval` decide on all of them")
    return verdict, texts


def _list_targets(rule: Mapping[str, Any]) -> Iterator[str]:
    tools, prefixes = _read_texts(rule, "toolName"), _read_texts(rule, "commandPrefix")
    for server in _read_texts(rule, "mcpName"):
        yield from (f"mcp__{server}__{tool}" for tool in tools or ["*"])
    if "mcpName" in rule:
        return
    for tool in tools or ([_SHELL] if prefixes else []):
        if tool == _SHELL and prefixes:
            yield from (f"{_SHELL}({each.strip()})" for each in prefixes)
        else:
            yield tool


def _read_texts(rule: Mapping[str, Any], field: str) -> list[str]:
    value = rule.get(field)
    return [value] if isinstance(value, str) else get_names(rule, field)


def add_skills(plan: ImportPlan, folder: Path, settings: Mapping[str, Any]) -> None:
    """Take skills, but those that are switched off."""
    skills = get_table(settings, "skills")
    is_off = skills.get("enabled", True) is not True or (
        get_table(get_table(settings, "admin"), "skills").get("enabled", True) is not True
    )
    names = [each.name for each in folder.glob("*/")] if is_off else get_names(skills, "disabled")
    plan.add_files(folder, "skills", "", dict.fromkeys(names, "`skills` of the settings"))


def add_agents(plan: ImportPlan, folder: Path, settings: Mapping[str, Any]) -> None:
    """Take agents, but those that are switched off; fields of theirs that nothing here corresponds to are named."""
    from agent.team import OWN_TOOLS
    from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
    from tools.builtin_tools import NAMES

    overrides = get_table(get_table(settings, "agents"), "overrides")
    off = {
        name
        for name, each in overrides.items()
        if get_table(overrides, name).get("enabled", True) is not True
    }
    is_off = get_table(settings, "experimental").get("enableAgents", True) is not True
    taken = ImportPlan()
    taken.add_files(folder, "agents")
    plan.left += taken.left
    for name, content in taken.files.items():
        source = str(folder / name.removeprefix("agents/"))
        text = content.decode("utf-8", "replace")
        try:
            agent = parse_agent_file(text, source, Path(name).stem, NAMES | OWN_TOOLS)
        except BadAgentFile as error:
            plan.left.append(str(error))
            continue
        if is_off or {agent.name, Path(name).stem} & {each.lower() for each in off}:
            plan.left.append(f"{source}: it is switched off by the settings")
        else:
            plan.files[name] = content
            plan.left += agent.warnings


def name_extensions(plan: ImportPlan, folder: Path) -> None:
    """Name the extensions: they are folders of their own, with servers, commands and instructions."""
    names = sorted(each.parent.name for each in folder.glob("*/gemini-extension.json"))
    if names:
        plan.left.append(
            f"{folder}: extensions are not taken: {', '.join(names)}; "
            "patchwright plugin add takes those that are plugins, too"
        )
