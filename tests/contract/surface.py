"""The contract as data, read off the program. Nothing else in this folder imports it.

When a name inside the program changes, this module follows it and the golden files stay as they are.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from typer.main import get_command

from agent.app_dirs import Home
from agent.events import parse_event, render_event
from agent.exit_codes import BY_FAULT, Exit
from agent.extension.skills.session_skills import SessionSkills, make_skill_tool
from agent.extension.skills.skill_catalog import SkillCatalog
from agent.extension.skills.skill_file import Skill
from agent.model.providers.model_family import find_family
from agent.team.ask_user_tool import make_ask_user_tool
from agent.team.child_tools import Outbox, make_ask_tool, make_findings_tool
from agent.team.delegate_tools import make_delegate_tool
from agent.team.session_team import SessionTeam
from cli.app import app
from cli.hooks import install
from cli.hooks.entry import NAMES as HOOKS
from cli.output.json_schemas import SCHEMAS
from cli.settings.environment import build_variable_name
from cli.settings.layers import load_settings
from cli.settings.project_settings import find_settings_to_trust
from cli.settings.settings_files import FILE, PROJECT_FILE
from cli.settings.settings_types import get_setting, list_setting_names
from cli.tui.commands.command_table import BY_NAME as SLASH_COMMANDS
from cli.tui.commands.command_table import GROUPS
from sandbox.errors import UserError
from sandbox.policy.trust import TrustStore
from tests.support.cli import CHECKOUT
from tests.support.repo import Repo
from tools.builtin_tools import TOOLS, UNTOLD, load_accepted_tools, load_default_tools
from tools.core.action import Action
from tools.core.call_aliases import KINDS as ALIASES
from tools.core.call_aliases import translate_call
from tools.core.registry import Tool, Toolbox
from tools.kernel.tool_bindings import describe_functions, format_signature

Data = dict[str, Any]


# ── The command line ─────────────────────────────────────────────────────────────────────────────────


def commands() -> Data:
    """Return every command by its full name, with its options and arguments."""
    return dict(_commands(get_command(app), "patchwright"))


def _commands(command: Any, name: str) -> Iterable[tuple[str, Data]]:
    yield (
        name,
        {
            "hidden": command.hidden,
            "options": {
                ", ".join([*each.opts, *each.secondary_opts]): _parameter(each)
                for each in command.params
                if each.param_type_name == "option"
            },
            "arguments": [
                {"name": each.metavar or each.name, **_parameter(each)}
                for each in command.params
                if each.param_type_name == "argument"
            ],
        },
    )
    for inner in sorted(getattr(command, "commands", ())):
        yield from _commands(command.commands[inner], f"{name} {inner}")


def _parameter(parameter: Any) -> Data:
    """Return the type and the default, and of the rest what is out of the ordinary."""
    kind = parameter.type
    rest = {
        "choices": list(getattr(kind, "choices", ())),
        "min": getattr(kind, "min", None),
        "max": getattr(kind, "max", None),
        "flag": getattr(parameter, "is_flag", False),
        "required": parameter.required,
        "repeatable": parameter.multiple or parameter.nargs == -1,
        "hidden": parameter.hidden,
        "variable": parameter.envvar,
    }
    unusual = {name: value for name, value in rest.items() if value not in (None, False, [])}
    return {"type": kind.name, "default": _as_json(parameter.default), **unusual}


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────


SAMPLES: Mapping[str, Data] = {
    "apply_patch": {"patch": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch\n"},
    "process": {"action": "list"},
    "shell": {"command": "cat a.py"},
}
"""Arguments of tools whose effect depends on them; of the others, values of the right type do."""


def tools(place: Path) -> Data:
    """Return every tool, offered or only understood: its arguments, and its effect in a repository at `place`."""
    repo = Repo(place)
    repo.write("a.py", "x = 1\n")
    repo.commit_all()
    workspace = repo.workspace()

    def tool(each: Tool) -> Data:
        given = SAMPLES.get(each.name) or _sample(each.parameters)
        effect = each.effect_of(given, workspace)
        return {
            "arguments": without_prose(each.parameters),
            "defaults": _defaults(each),
            "effect": {"with": given, "kind": effect.kind, "paths": list(effect.paths)},
            "reads_only": each.reads_only,
            "ends": each.ends,
        }

    return {each.name: tool(each) for each in (*_all_tools(), *_team_tools())}


def offered_by_format(model: str) -> list[str]:
    """Return the formats in which a model of this name is told to write edits."""
    return list(find_family(model).formats)


def kernel_functions() -> list[str]:
    """Return the tools as a kernel has them: the signatures of its functions."""
    return [format_signature(each["name"], each["parameters"]) for each in describe_functions(_all_tools())]


def _all_tools() -> list[Tool]:
    found = {each.name: each for each in (*load_default_tools(), *load_accepted_tools())}
    assert len(found) == len(TOOLS) + len(UNTOLD)
    return list(found.values())


class _NoAgents(SessionTeam):
    """Agents that are only named."""

    def __init__(self) -> None: ...

    def is_writer(self, name: str, child: str) -> bool:
        return False


def _make_skill_tool() -> Tool:
    skill = Skill(name="a", description="About a", body="", source="a", folder=CHECKOUT)
    tool = make_skill_tool(SessionSkills(SkillCatalog(skills={"a": skill}), CHECKOUT, None), 100)
    assert tool is not None
    return tool


def _team_tools() -> list[Tool]:
    """Return the tools of sessions with agents, and those of the agents."""
    team = _NoAgents()
    found = [make_delegate_tool(team, {}), make_ask_user_tool(team), _make_skill_tool()]
    return [*found, make_ask_tool(Outbox()), make_findings_tool(Outbox())]


def _defaults(tool: Tool) -> Data:
    parameters = inspect.signature(tool.function).parameters.values()
    return {
        each.name: _as_json(each.default)
        for each in parameters
        if each.name in tool.parameters["properties"] and each.default is not inspect.Parameter.empty
    }


def _sample(schema: Mapping[str, Any]) -> Data:
    """Return a value for each required argument."""
    return {name: _value(name, schema["properties"][name]) for name in schema.get("required", ())}


def _value(name: str, schema: Mapping[str, Any]) -> Any:
    if name == "path":
        return "a.py"
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "text", "integer": 1, "number": 1.0, "boolean": True, "array": []}[schema["type"]]


def aliases() -> list[Data]:
    """Return the names of other agents' tools and arguments that are understood, by what they do."""
    return [
        {"tools": sorted(kind.names), "arguments": dict(sorted(kind.arguments.items()))} for kind in ALIASES
    ]


def convert_call(tool: str, arguments: Mapping[str, Any]) -> Data:
    """Return a call of another agent's tool as the call of ours that it is taken for."""
    tools = Toolbox([*_all_tools(), *_team_tools()])
    action = translate_call(Action(id="1", tool=tool, arguments=dict(arguments)), tools)
    return {"tool": action.tool, "arguments": dict(action.arguments)}


# ── Events ───────────────────────────────────────────────────────────────────────────────────────────


def read_and_write(line: bytes) -> bytes:
    """Read a line of a log and write it again."""
    return render_event(parse_event(line))


# ── Settings ─────────────────────────────────────────────────────────────────────────────────────────


def settings() -> Data:
    """Return each setting by its dotted key: its schema with the default, and its variable."""
    schema = without_prose(SCHEMAS["settings"]())
    found = {}
    for key in list_setting_names():
        at = schema
        for part in key.split("."):
            at = at["properties"][part]
        found[key] = {"schema": at, "variable": build_variable_name(key)}
    return found


def may_set(root: Path, key: str, value: Any) -> Data:
    """Say from where a setting may be given this value: "yes", "no", or "if trusted".

    root: a folder that holds no settings of its own
    """
    home = Home.from_environment()
    default = _read_setting(home, root, key, {})
    line = f"{key} = {_toml(value)}\n"
    text = value if isinstance(value, str) else _toml(value)

    def is_taken(env: Mapping[str, str] = {}) -> bool:
        return _read_setting(home, root, key, env) not in (default, None)

    with _file(home.config / FILE, line):
        user = "yes" if is_taken() else "no"
    with _file(root / PROJECT_FILE, line):
        project = "yes" if is_taken() else "if trusted" if _trust(home, root) and is_taken() else "no"
    variable = "yes" if is_taken({build_variable_name(key): text}) else "no"
    return {"user": user, "project": project, "environment": variable}


def _read_setting(home: Home, root: Path, key: str, env: Mapping[str, str]) -> Any:
    """The value that holds; None if it is refused."""
    try:
        return get_setting(load_settings(home, root, {}, env), key)
    except UserError:
        return None


def _trust(home: Home, root: Path) -> bool:
    try:
        definitions = find_settings_to_trust(home, root)
    except UserError:
        return False
    TrustStore(home.config).grant(root / PROJECT_FILE, definitions)
    return True


@contextmanager
def _file(path: Path, text: str) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    try:
        yield
    finally:
        path.unlink()


def _toml(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)  # texts, numbers, lists: written alike


# ── Exit codes, slash commands, git hooks, variables, published schemas ──────────────────────────────


def exit_codes() -> Data:
    """Return the codes by their labels, and the label by which each kind of fault ends."""
    return {
        "codes": {each.label: int(each) for each in Exit},
        "faults": {str(fault): code.label for fault, code in BY_FAULT.items()},
    }


def slash_commands() -> Data:
    """Return the commands of a conversation by every name that they answer to."""
    group = {each.name: title for title, commands in GROUPS.items() for each in commands}
    return {
        name: {
            "runs": each.name,
            "argument": each.argument,
            "while_working": each.while_working,
            "completes": each.choices is not None,
            "group": group[each.name],
        }
        for name, each in SLASH_COMMANDS.items()
    }


def hooks() -> Data:
    """Return the git hooks that there are, and those that are installed when none is named."""
    return {"all": sorted(HOOKS), "default": sorted(install.DEFAULT)}


def variables() -> list[str]:
    """Return the environment variables of ours that the program's sources name, but for those of settings."""
    of_settings = {build_variable_name(key) for key in list_setting_names()}
    sources = (path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*.py"))
    named = {
        name
        for path in sources
        for name in re.findall(r"\b_?PATCHWRIGHT_[A-Z_]*[A-Z]", path.read_text("utf-8"))
    }
    return sorted(named - of_settings)


FOLDERS = ("patchwright", "cli", "agent", "tools", "sandbox", "packages")


# ── Schemas ──────────────────────────────────────────────────────────────────────────────────────────


def without_prose(schema: Any) -> Any:
    """Return a JSON schema without titles and descriptions, and with every reference replaced by what it names.

    So the names of our classes, which such schemas hold, are no part of the contract.
    """
    return _plain(schema, schema.get("$defs", {}))


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_plain(each, definitions) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        return _plain({**named, **{key: each for key, each in schema.items() if key != "$ref"}}, definitions)
    return {
        key: {name: _plain(each, definitions) for name, each in value.items()}
        if key == "properties"
        else value
        if key in ("default", "const", "enum", "required")
        else _plain(value, definitions)
        for key, value in schema.items()
        if key not in ("title", "description", "$defs", "discriminator")
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
