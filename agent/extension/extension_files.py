"""Places of the files that extend a session: agents, commands, hooks, skills, plugins. Where there are none, nothing
that reads them is loaded."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home, make_private_folder

AGENT_FOLDERS = (".patchwright/agents", ".claude/agents", ".agents/agents")
COMMAND_FOLDERS = (".patchwright/commands", ".claude/commands")
SKILL_FOLDERS = (".patchwright/skills", ".claude/skills", ".agents/skills")
"""Folders of a project; of entries with the same name the first one counts."""

HOOK_FILES = (".patchwright/agent-hooks.json", ".claude/settings.json", ".claude/settings.local.json")
"""Files of a project with hooks; all of them count."""

SHARED_LESSONS = ".patchwright/memory"
"""Folder of the lessons that a repository shares, under which the user's trust in them is stored, too."""

COMMANDS_TRUST, SKILLS_TRUST, HOOKS_TRUST = COMMAND_FOLDERS[0], SKILL_FOLDERS[0], HOOK_FILES[0]
"""Places below which the trust in all of a project's files of a kind is stored."""

SKILL_FILE = "SKILL.md"

AGENTS, COMMANDS, SKILLS, HOOKS = "agents", "commands", "skills", "agent-hooks.json"
"""Folders and file of the user, beside their settings."""

SHARED_SKILLS = "~/.agents/skills"
"""Folder of the user's skills for all agents."""


def has_plugins(home: Home) -> bool:
    """Whether the user ever added a plugin."""
    return home.plugins.is_dir()


def has_agent_files(home: Home, root: Path) -> bool:
    """Whether there are folders of agents that the user or the project wrote, or plugins with some."""
    if any(each.is_dir() for each in (home.config / AGENTS, *(root / name for name in AGENT_FOLDERS))):
        return True
    if not has_plugins(home):
        return False
    from agent.extension.plugins.plugin_store import list_plugins

    return any(each.list_places("agents") for each in list_plugins(home))


def has_project_commands(root: Path) -> bool:
    """Whether the project has a folder of commands."""
    return any((root / each).is_dir() for each in COMMAND_FOLDERS)


def has_commands(home: Home, root: Path) -> bool:
    """Whether there are folders of commands that the user or the project wrote, or plugins."""
    return has_plugins(home) or (home.config / COMMANDS).is_dir() or has_project_commands(root)


def has_hook_files(home: Home, root: Path) -> bool:
    """Whether there are files or plugins that may define hooks."""
    return has_plugins(home) or any(
        each.is_file() for each in (home.config / HOOKS, *(root / name for name in HOOK_FILES))
    )


def has_skills(home: Home, root: Path) -> bool:
    """Whether there are folders of skills that the user or the project wrote, or plugins."""
    return has_plugins(home) or any(
        each.is_dir() for each in (*list_skill_folders(home), *(root / name for name in SKILL_FOLDERS))
    )


def list_skill_folders(home: Home) -> tuple[Path, ...]:
    """Return the folders of the user's skills, whether they exist or not."""
    return home.config / SKILLS, Path(SHARED_SKILLS).expanduser()


def make_copies_folder(home: Home, session: str) -> Path | None:
    """Return the folder in which commands of a session see the user's skills and plugins, None if there are none.

    They themselves are in places that commands cannot see.
    """
    if not has_plugins(home) and not any(each.is_dir() for each in list_skill_folders(home)):
        return None
    return make_private_folder(home.cache / "copies" / session / "skills")
