"""Layers of settings: built-in, the user's TOML file, the project's as far as allowed, environment, flags."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from cli.settings.environment import AS_THEY_ARE, build_variable_name, merge_layers, read_environment
from cli.settings.permission_rules import build_rules, read_stored_rules
from cli.settings.project_settings import read_project_settings
from cli.settings.settings_checks import check_ranges, check_values
from cli.settings.settings_files import FILE, read_settings_file
from cli.settings.settings_types import Settings, replace_setting
from sandbox.errors import Fault
from sandbox.policy.decision import Approval, Mode

WORDS: Mapping[str, Callable[[str], Mode | Approval]] = {"mode": Mode, "approval": Approval}
"""Flags whose text is converted to an enum."""

FLAG_KEYS = {"test_command": "tests.command", "plain": "terminal.plain"}
"""Flags whose names differ from the setting's."""


def load_settings(
    home: Home, root: Path | None, flags: Mapping[str, Any], env: Mapping[str, str] = os.environ
) -> Settings:
    """Merge the layers, later ones winning. Raises UserError that names the file or variable, and the key."""
    user_file = home.config / FILE
    values = read_settings_file(user_file)
    check_values(values, user_file)
    if root is not None:
        values = merge_layers(values, read_project_settings(home, root))
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
    access = replace(settings.session.access, rules=rules)
    return replace(settings, session=replace(settings.session, access=access), flags=dict(flags))
