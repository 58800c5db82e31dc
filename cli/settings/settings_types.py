"""Settings of the program: those of a session and of the terminal, and the keys by which users set them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, make_dataclass, replace
from functools import cache
from typing import Any, get_type_hints

from agent.session_settings import SessionSettings
from cli.settings.terminal_settings import TerminalSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN


@dataclass(kw_only=True)
class RuleSettings:
    """A rule with examples, which are checked when the settings load."""

    __pydantic_config__ = FORBID_UNKNOWN

    rule: str
    match: list[str] = field(default_factory=list)
    no_match: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class PermissionSettings:
    """The user's rules by verdict, each like `shell(npm run *)`."""

    __pydantic_config__ = FORBID_UNKNOWN

    allow: list[str | RuleSettings] = field(default_factory=list)
    ask: list[str | RuleSettings] = field(default_factory=list)
    deny: list[str | RuleSettings] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one run.

    permissions, rules: as the user wrote them; the session has them parsed
    hosting: kind, and the API's address, of hosting services by their host
    notices: for the user, when a session starts
    flags: options set on the command line, by name (`test_command` is `tests.command`)
    """

    session: SessionSettings = field(default_factory=SessionSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    rules: list[dict[str, Any]] = field(default_factory=list)
    hosting: dict[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    flags: Mapping[str, object] = field(default_factory=dict)


KEYS: Mapping[str, str] = {
    "model": "session.model",
    "api_base": "session.api_base",
    "mode": "session.access.mode",
    "approval": "session.access.approval",
    "sandbox": "session.access.sandbox",
    "container_image": "session.access.container_image",
    "resident_sandbox": "session.access.resident_sandbox",
    "max_steps": "session.limits.max_steps",
    "max_time": "session.limits.max_time",
    "max_cost": "session.limits.max_cost",
    "max_tokens": "session.limits.max_tokens",
    "shell_timeout": "session.tools.shell_timeout",
    "kernel_memory": "session.tools.kernel_memory",
    "actions": "session.actions",
    "network": "session.access.network",
    "visible_paths": "session.access.visible_paths",
    "secrets_allowed": "session.tools.secrets_allowed",
    "language_servers": "session.tools.language_servers",
    "mcp": "session.tools.mcp",
    "tool_search": "session.tools.tool_search",
    "commit": "session.commit",
    "tests": "session.tools.tests",
    "edit": "session.tools.edit",
    "web": "session.tools.web",
    "discipline": "session.discipline",
    "lead": "session.lead",
    "verify": "session.verify",
    "strategy": "session.strategy",
    "agents": "session.agents",
    "skills": "session.skills",
    "memory": "session.memory",
    "snapshots": "session.snapshots",
    "context": "session.context",
    "models": "session.models",
    "prompts": "session.prompts",
    "descriptions": "session.descriptions",
    "terminal": "terminal",
    "hosting": "hosting",
    "permissions": "permissions",
    "rules": "rules",
}
"""Keys and tables of a settings file, in the order in which users see them, and where `Settings` has them."""


def list_setting_names() -> list[str]:
    """Return the names of all settings, with dots."""
    builtin, names = Settings(), []
    for key in KEYS:
        value = get_setting(builtin, key)
        names += [f"{key}.{each.name}" for each in fields(value)] if is_dataclass(value) else [key]
    return names


def get_setting(settings: Settings, key: str) -> Any:
    """Return the value of a setting (`tests.command`), or of a table (`tests`); "" for a name that a table lacks."""
    value: Any = settings
    for name in _find_place(key).split("."):
        value = value.get(name, "") if isinstance(value, Mapping) else getattr(value, name)
    return value


def replace_setting(settings: Settings, key: str, value: object) -> Settings:
    """Return settings with another value of a setting or table."""
    changed: Settings = _replace_at(settings, _find_place(key).split("."), value)
    return changed


def _find_place(key: str) -> str:
    table, dot, name = key.partition(".")
    return f"{KEYS[table]}{dot}{name}"


def _replace_at(section: Any, path: list[str], value: object) -> Any:
    name, *rest = path
    if isinstance(section, Mapping):
        return {**section, name: value}
    return replace(section, **{name: _replace_at(getattr(section, name), rest, value) if rest else value})


@cache
def build_file_type() -> type:
    """Return the dataclass that a settings file has to match: all keys side by side, with the types of their fields."""
    made = []
    for key, place in KEYS.items():
        section = Settings
        *sections, name = place.split(".")
        for each in sections:
            section = get_type_hints(section)[each]
        [found] = [each for each in fields(section) if each.name == name]
        default = field(default=found.default, default_factory=found.default_factory)
        made.append((key, get_type_hints(section)[name], default))
    namespace = {
        "__pydantic_config__": FORBID_UNKNOWN,
        "__doc__": "All settings with their defaults; a file may give any part of them.",
    }
    return make_dataclass("Settings", made, kw_only=True, namespace=namespace)
