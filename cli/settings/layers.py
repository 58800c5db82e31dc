"""The layers of settings: built-in, the user's TOML file, the project's, environment, flags."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent.home import Home
from cli.settings.checks import check, check_ranges
from cli.settings.files import FILE, PROJECT_FILE, place, read_file
from cli.settings.rules import rules_of, stored_rules
from cli.settings.shape import Settings
from sandbox.errors import Fault, UserError
from sandbox.policy import Approval, Mode

FROM_ENVIRONMENT = {"PATCHWRIGHT_MODEL": "model", "PATCHWRIGHT_API_BASE": "api_base"}

WORDS: Mapping[str, Callable[[str], Mode | Approval]] = {"mode": Mode, "approval": Approval}
"""Flags whose text stands for a word of ours."""

FROM_PROJECT = {"tests"}
"""What a repository may set: its test command runs in the sandbox like any command. It can name no model,
no URL, no mode: those would redirect or loosen something before the user trusts it."""


def load(
    home: Home, root: Path | None, flags: Mapping[str, Any], env: Mapping[str, str] = os.environ
) -> Settings:
    """Merge the layers, later ones winning. Raises UserError that names the file and the key."""
    user_file = home.config / FILE
    values = read_file(user_file)
    check(values, user_file)
    if root is not None:
        project_file = root / PROJECT_FILE
        project = read_file(project_file)
        refused = sorted(set(project) - FROM_PROJECT)
        if refused:
            raise UserError(
                Fault.CONFIGURATION,
                f"{place(project_file, refused[0])} sets {refused[0]!r}, which a project may not set",
                f"A project may set: {', '.join(sorted(FROM_PROJECT))}. Put the rest into {str(user_file)!r}.",
            )
        check(project, project_file)
        values = {**values, **project}
    settings = check(values, None)
    settings.rules = rules_of(settings.permissions, user_file).allowing(stored_rules(home))
    for name, key in FROM_ENVIRONMENT.items():
        if env.get(name):
            setattr(settings, key, env[name])
    for key, value in flags.items():  # the command line has checked their types
        if key == "test_command":
            settings.tests.command = str(value)
        elif key == "plain":
            settings.terminal.plain = bool(value)
        else:
            setattr(settings, key, WORDS[key](value) if key in WORDS else value)
    check_ranges(flags, Fault.USAGE, lambda key: f"--{key.replace('_', '-')}")
    return settings
