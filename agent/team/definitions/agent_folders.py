"""Folders of agent files."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home
from agent.extension.plugins.plugin_store import list_plugins

FOLDERS = (".patchwright/agents", ".claude/agents", ".agents/agents")
"""Folders of a project's agents; of agents with the same name the first one counts."""

USER_FOLDER = "agents"
"""Folder of the user's agents, beside their settings."""


def has_agent_files(home: Home, root: Path) -> bool:
    """Whether there are folders of agents that the user or the project wrote, or plugins with some."""
    places = (home.config / USER_FOLDER, *(root / name for name in FOLDERS))
    return any(each.is_dir() for each in places) or any(
        each.list_places("agents") for each in list_plugins(home)
    )
