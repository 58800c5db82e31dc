"""New skills: the folder of one to be filled in, and a copy of one from elsewhere."""

from __future__ import annotations

from pathlib import Path

from agent.app_dirs import Home
from agent.extension.extension_files import SKILL_FILE, SKILL_FOLDERS, SKILLS
from agent.extension.skills.skill_check import find_deviations
from agent.extension.skills.skill_file import Skill
from agent.extension.skills.skill_files import copy_skill
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder

TEMPLATE = """---
name: {name}
description: Say what it does, and when to use it.
---

Say step by step what to do. Name files beside this one where more is to be read: references/details.md.
"""


def write_skill(home: Home, root: Path | None, name: str) -> Path:
    """Write the SKILL.md of a new skill of a project, or of the user where `root` is None. Raises UserError."""
    text = TEMPLATE.format(name=name)
    if problems := find_deviations(text, name):
        raise UserError(
            Fault.USAGE, f"{name!r} names no skill: {problems[0]}", "Use small letters, digits and -."
        )
    folder = _choose_folder(home, root, name)
    try:
        with (folder / SKILL_FILE).open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            Fault.READ_ONLY, f"cannot write {str(folder / SKILL_FILE)!r}: {error.strerror}"
        ) from None
    return folder / SKILL_FILE


def add_skill(home: Home, root: Path | None, skill: Skill) -> Path:
    """Copy a skill to a project's or the user's, and return the new folder. Raises UserError if there is one."""
    return copy_skill(skill, skill.folder, _choose_folder(home, root, skill.name))


def _choose_folder(home: Home, root: Path | None, name: str) -> Path:
    """Make the folder of a skill. Raises UserError if it exists, or a link in its place leads out of the project."""
    folder = (home.config / SKILLS if root is None else root / SKILL_FOLDERS[0]) / name
    if folder.exists():
        raise UserError(Fault.USAGE, f"{str(folder)!r} exists", "Remove it, or choose another name.")
    try:
        if root is None:
            create_private_folder(folder)
            return folder
        inside = root.resolve()
        for each in (folder.parent.parent, folder.parent, folder):
            if not each.resolve().is_relative_to(inside):
                raise UserError(Fault.USAGE, f"{str(each)!r} is a link that leads outside", "Remove it.")
            each.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(Fault.READ_ONLY, f"cannot make {str(folder)!r}: {error.strerror}") from None
    return folder
