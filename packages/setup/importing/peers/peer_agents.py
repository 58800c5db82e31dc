"""Agents of other agents as Markdown with our fields. One whose limits cannot be kept is not taken."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from packages.setup.importing.import_plan import ImportPlan, get_names
from packages.setup.importing.peers.peer_files import Table, read_table
from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file

_TOOLS: Mapping[str, str] = {
    "execute": "Bash",
    "shell": "Bash",
    "read": "Read",
    "edit": "Edit",
    "search": "Grep",
    "web": "WebFetch",
    "agent": "Agent",
    "custom-agent": "Agent",
    "todo": "TodoWrite",
    "notebookread": "Read",
    "notebookedit": "Edit",
    "patch": "Edit",
    "glob": "Glob",
    "list": "LS",
    "webfetch": "WebFetch",
}
"""Names of Copilot CLI and opencode for kinds of tools."""

_MODES: Mapping[str, str] = {
    "plan": "plan",
    "default": "default",
    "auto-edit": "acceptEdits",
    "auto_edit": "acceptEdits",
}
_QUIET = ("mode", "color", "hidden", "target", "display_name", "safety")


class Refused(ValueError):
    """An agent that is not taken; its text says why."""


def add_peer_agents(plan: ImportPlan, peer: Table, folder: Path, off: Mapping[str, str]) -> None:
    """Take the agents of a folder. off: name → what switches it off"""
    ending = peer.get("ending", ".md")
    paths = {path: path.name.removesuffix(ending) for path in sorted(folder.rglob(f"*{ending}"))}
    if ending != ".md":
        paths |= {path: path.stem for path in sorted(folder.rglob("*.md")) if not path.name.endswith(ending)}
    for path, name in paths.items():
        if name in off:
            plan.left.append(f"{path}: it is switched off by {off[name]}")
        elif path.suffix == ".toml":
            _add_agent(plan, name, *_read_profile(path, plan), str(path))
        else:
            _add_file(plan, path, name)


def add_agent_table(plan: ImportPlan, table: object, source: str, folder: Path) -> None:
    """Take agents that are a table of the settings, each with its instructions in `prompt`."""
    for name, given in table.items() if isinstance(table, Mapping) else ():
        fields = dict(given) if isinstance(given, Mapping) else {}
        prompt = str(fields.pop("prompt", "") or "")
        if match := re.fullmatch(r"\{file:(.+)\}", prompt.strip()):
            path = (folder / match[1]).expanduser()
            prompt = (read_regular_file(path, SOURCE) or b"").decode("utf-8", "replace")
        _add_agent(plan, str(name), fields, prompt, f"{source}: agent {name}")


def _add_file(plan: ImportPlan, path: Path, name: str) -> None:
    from agent.extension.front_matter import BadFrontMatter, split_front_matter

    try:
        found = split_front_matter((read_regular_file(path, SOURCE) or b"").decode("utf-8", "replace"))
    except UserError as error:
        plan.left.append(error.message)
        return
    except BadFrontMatter as error:
        plan.left.append(f"{path}: {error}")
        return
    _add_agent(plan, name, dict(found[0]) if found else {}, found[1] if found else "", str(path))


def _read_profile(path: Path, plan: ImportPlan) -> tuple[dict[str, Any], str]:
    """Return a profile of Mistral Vibe, whose instructions are a file of its own."""
    fields = read_table(path, plan)
    prompt = path.parents[1] / "prompts" / f"{fields.pop('system_prompt_id', '')}.md"
    text = (read_regular_file(prompt, SOURCE) or b"").decode("utf-8", "replace")
    if fields.pop("agent_type", "agent") != "subagent":
        fields["mode"] = "primary"
    fields["disallowedTools"] = fields.pop("disabled_tools", None)
    fields["tools"] = fields.pop("enabled_tools", None) or fields.get("tools")
    fields["model"] = fields.pop("active_model", None)
    return {key: each for key, each in fields.items() if each is not None}, text


def _add_agent(plan: ImportPlan, name: str, fields: dict[str, Any], body: str, source: str) -> None:
    from agent.team import OWN_TOOLS
    from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
    from tools.builtin_tools import NAMES

    try:
        head = _convert(dict(fields), plan, source)
    except Refused as reason:
        plan.left.append(f"{source}: not taken: {reason}")
        return
    stem = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "agent"
    head["name"] = stem
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    text = "\n".join(["---", *lines, "---", "", body.strip(), ""])
    try:
        agent = parse_agent_file(text, source, stem, NAMES | OWN_TOOLS)
    except BadAgentFile as error:
        plan.left.append(str(error))
        return
    plan.files[f"agents/{stem}.md"] = text.encode()
    plan.left += agent.warnings


def _convert(fields: dict[str, Any], plan: ImportPlan, source: str) -> dict[str, Any]:
    """Return fields of ours. Raises Refused."""
    if fields.pop("disable", False) is True:
        raise Refused("it is switched off by `disable`")
    if fields.get("mode") == "primary":
        raise Refused("it is an agent for whole sessions, not one that is started in one")
    denied = _name_tools(fields.pop("disallowedTools", None))
    tools: Any = fields.pop("tools", None)
    if isinstance(tools, Mapping):
        denied += [_name_tool(key) for key, each in tools.items() if _is_off(each)]
        if asks := [key for key, each in tools.items() if isinstance(each, Mapping) and not _is_off(each)]:
            plan.left.append(f"{source}: tools: the session's own rules hold: {', '.join(asks)}")
        tools = None
    denied += _read_denied(fields.pop("permission", None), plan, source)
    head: dict[str, Any] = {"description": " ".join(str(fields.pop("description", "") or "").split())}
    if tools is not None and tools not in ("*", ["*"], ["all"]):
        head["tools"] = _name_tools(tools)
    if denied:
        head["disallowedTools"] = list(dict.fromkeys(denied))
    _add_mode(head, fields)
    if fields.pop("is_background", fields.pop("background", False)) is True:
        head["background"] = True
    steps = [fields.pop(key) for key in ("steps", "maxSteps", "maxTurns") if fields.get(key)]
    if steps:
        head["maxTurns"] = steps[0]
    model = fields.pop("model", None)
    if isinstance(model, str) and model in ("inherit", "fast"):
        head["model"] = {"fast": "haiku"}.get(model, model)
    elif model:
        plan.left.append(
            f"{source}: the model {model!r}: the session's own is used, unless you write one of ours"
        )
    fields.pop("name", None)
    for key in _QUIET:
        fields.pop(key, None)
    if fields:
        plan.left.append(f"{source}: unknown, not used: {', '.join(sorted(map(str, fields)))}")
    return head


def _add_mode(head: MutableMapping[str, Any], fields: MutableMapping[str, Any]) -> None:
    approval = fields.pop("approvalMode", fields.pop("permissionMode", None))
    if fields.pop("readonly", False) is True or approval == "plan":
        head["permissionMode"] = "plan"
    elif approval in _MODES:
        head["permissionMode"] = _MODES[str(approval)]
    elif approval is not None:
        fields["approvalMode"] = approval  # it lifts bounds: named


def _read_denied(permission: object, plan: ImportPlan, source: str) -> list[str]:
    """Return the tools that are denied as a whole. Raises Refused for a limit that an agent cannot have here."""
    table = {"*": permission} if isinstance(permission, str) else permission
    found = []
    for name, given in table.items() if isinstance(table, Mapping) else ():
        actions = given if isinstance(given, Mapping) else {"*": given}
        if "deny" in actions.values():
            if set(actions.values()) != {"deny"} or set(actions) != {"*"} or name == "*":
                raise Refused(f"an agent is not limited to some uses of a tool here: permission.{name}")
            found.append(_name_tool(str(name)))
        elif "ask" in actions.values() and name != "*":
            plan.left.append(f"{source}: permission.{name}: the session's own rules hold")
    return found


def _is_off(value: object) -> bool:
    """Return whether a tool of a table is off: by false, or by a permission of never."""
    return value is False or (isinstance(value, Mapping) and value.get("permission") == "never")


def _name_tools(value: object) -> list[str]:
    names = re.split(r"[,\s]+", value) if isinstance(value, str) else get_names({"": value}, "")
    return [_name_tool(each) for each in names if each]


def _name_tool(name: str) -> str:
    server, slash, tool = name.partition("/")
    if slash:
        return f"mcp__{server}" if tool == "*" else f"mcp__{server}__{tool}"
    if name.endswith("_*"):
        return f"mcp__{name.removesuffix('_*')}"
    return _TOOLS.get(name.lower(), name)
