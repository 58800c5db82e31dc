"""Layers of settings: built-in, the user's TOML file, the project's as far as allowed, environment, flags."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.extension.extension_files import has_agent_files, has_commands, has_hook_files, has_skills
from agent.session_settings import SessionSettings
from cli.settings.environment import AS_THEY_ARE, build_variable_name, merge_layers, read_environment
from cli.settings.permission_rules import build_rules, read_stored_rules
from cli.settings.project_settings import read_project_settings
from cli.settings.settings_checks import check_ranges, check_values
from cli.settings.settings_files import FILE, SERVER_FILE, read_settings_file
from cli.settings.settings_types import Settings, replace_setting
from cli.settings.user_rules import collect_rules
from sandbox.errors import Fault
from sandbox.policy.decision import Approval, Mode

WORDS: Mapping[str, Callable[[str], Mode | Approval]] = {"mode": Mode, "approval": Approval}
"""Flags whose text is converted to an enum."""

FLAG_KEYS = {"test_command": "tests.command", "lead": "lead.when", "plain": "terminal.plain"}
"""Flags whose names differ from the setting's."""


def load_settings(
    home: Home, root: Path | None, flags: Mapping[str, Any], env: Mapping[str, str] = os.environ
) -> Settings:
    """Merge the layers, later ones winning. Raises UserError that names the file or variable, and the key."""
    user_file = home.config / FILE
    values = user = read_settings_file(user_file)
    check_values(values, user_file)
    project: Mapping[str, Any] = {}
    if root is not None:
        project = read_project_settings(home, root)
        values = merge_layers(values, project)
    servers = None
    if root is not None and (root / SERVER_FILE).is_file():
        from cli.settings.project_servers import load_project_servers

        servers = load_project_servers(home, root)
        if servers.values:
            values = merge_layers({"mcp": servers.values}, values)
    tables, notices = collect_rules(home, root, user, project)
    values = {key: value for key, value in values.items() if key != "rules"}
    values = merge_layers(values, read_environment(env))
    settings = check_values(values, None)
    for key in AS_THEY_ARE:
        if text := env.get(build_variable_name(key)):
            settings = replace_setting(settings, key, text)
    for key, value in flags.items():  # types are checked by the command line
        converted = WORDS[key](value) if key in WORDS else value
        settings = replace_setting(settings, FLAG_KEYS.get(key, key), converted)
    check_ranges(flags, Fault.USAGE, lambda key: f"--{key.replace('_', '-')}")
    rules = build_rules(settings.permissions, user_file).with_allowed_commands(read_stored_rules(home))
    session = replace(settings.session, access=replace(settings.session.access, rules=rules))
    if tables:
        session = _add_user_rules(session, tables)
    if root is not None:
        session = replace(session, access=replace(session.access, rules=session.access.rules.bind(root)))
    return replace(
        settings,
        session=session,
        rules=[dict(table) for _, each in tables for table in each],
        notices=(
            *notices,
            *(servers.notices if servers is not None else ()),
            *_find_file_notices(home, root),
        ),
        flags=dict(flags),
    )


def _find_file_notices(home: Home, root: Path | None) -> Sequence[str]:
    """Return what of the files for agents is not used; nothing is imported for absent ones."""
    found: list[str] = []
    if root is not None and has_agent_files(home, root):
        from agent.team.definitions.agent_catalog import load_agents

        found += load_agents(home, root).notices
    if root is not None and has_skills(home, root):
        from agent.extension.skills.skill_catalog import load_skills

        found += load_skills(home, root).notices
    if root is not None and has_commands(home, root):
        from agent.extension.commands.command_catalog import load_commands

        found += load_commands(home, root).notices
    if root is not None and has_hook_files(home, root):
        from agent.extension.hooks.hook_catalog import load_hooks

        found += load_hooks(home, root).notices
    return found


def _add_user_rules(
    session: SessionSettings, tables: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]
) -> SessionSettings:
    """Add the rules of all files: none replaces another one."""
    from agent.rules.closed_paths import add_read_restrictions
    from agent.rules.rule_parsing import check_rules, parse_rules

    rules = check_rules([rule for source, each in tables for rule in parse_rules(each, source)])
    permissions = add_read_restrictions(session.access.rules, rules)
    return replace(session, rules=rules, access=replace(session.access, rules=permissions))
