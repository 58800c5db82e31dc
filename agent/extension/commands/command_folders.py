"""Folders of command files."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home
from agent.extension.plugins.plugin_store import has_plugins

FOLDERS = (".patchwright/commands", ".claude/commands")
"""Folders of a project's commands; of commands with the same name the first one counts."""

USER_FOLDER = "commands"
"""Folder of the user's commands, beside their settings."""

TRUST_PLACE = FOLDERS[0]
"""Place below which the trust in all commands of a project is stored."""


def has_project_commands(root: Path) -> bool:
    """Whether the project has a folder of commands."""
    return any((root / each).is_dir() for each in FOLDERS)


def has_commands(home: Home, root: Path) -> bool:
    """Whether there are folders of commands that the user or the project wrote, or plugins."""
    return has_plugins(home) or (home.config / USER_FOLDER).is_dir() or has_project_commands(root)
