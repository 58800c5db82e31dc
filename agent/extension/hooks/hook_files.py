"""Files of agent hooks."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home
from agent.extension.plugins.plugin_store import has_plugins

FILES = (".patchwright/agent-hooks.json", ".claude/settings.json", ".claude/settings.local.json")
"""Files of a project with hooks; all of them count."""

USER_FILE = "agent-hooks.json"
"""File of the user's hooks, beside their settings."""

TRUST_PLACE = FILES[0]
"""Place below which the trust in all hooks of a project is stored."""


def has_hook_files(home: Home, root: Path) -> bool:
    """Whether there are files or plugins that may define hooks."""
    return has_plugins(home) or any(
        each.is_file() for each in (home.config / USER_FILE, *(root / name for name in FILES))
    )
