"""Folders of skills."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home, make_private_folder
from agent.extension.plugins.plugin_store import has_plugins

FOLDERS = (".patchwright/skills", ".claude/skills", ".agents/skills")
"""Folders of a project's skills; of skills with the same name the first one counts."""

USER_FOLDER = "skills"
"""Folder of the user's skills, beside their settings."""

SHARED_FOLDER = "~/.agents/skills"
"""Folder of the user's skills for all agents."""

TRUST_PLACE = FOLDERS[0]
"""Place below which the trust in all skills of a project is stored."""

FILE = "SKILL.md"


def list_user_folders(home: Home) -> tuple[Path, ...]:
    """Return the folders of the user's skills, whether they exist or not."""
    return home.config / USER_FOLDER, Path(SHARED_FOLDER).expanduser()


def has_skills(home: Home, root: Path) -> bool:
    """Whether there are folders of skills that the user or the project wrote, or plugins."""
    return has_plugins(home) or any(
        each.is_dir() for each in (*list_user_folders(home), *(root / name for name in FOLDERS))
    )


def make_copies_folder(home: Home, session: str) -> Path | None:
    """Return the folder in which commands of a session see the user's skills and plugins, None if there are none.

    They themselves are in places that commands cannot see.
    """
    if not has_plugins(home) and not any(each.is_dir() for each in list_user_folders(home)):
        return None
    return make_private_folder(home.cache / "copies" / session / "skills")
