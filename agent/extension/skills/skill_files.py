"""Files of a skill's folder: listed, read and copied within bounds; no link leads out of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from agent.extension.extension_files import SKILL_FILE
from agent.extension.skills.skill_file import Skill
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.regular_file import SETTINGS, SOURCE, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file

MOST_FILES = 1_000
"""Files of one skill: the largest known ones have a hundred."""

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".DS_Store"})


def list_skill_files(folder: Path) -> tuple[str, ...]:
    """Return the files below a skill's folder besides SKILL.md, relative to it and sorted; linked folders are left out.

    Raises UserError if there are too many.
    """
    found: list[str] = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in _SKIPPED)
        shown = Path(base).relative_to(folder)
        found += [(shown / each).as_posix() for each in names if each not in _SKIPPED]
        if len(found) > MOST_FILES:
            raise UserError(
                Fault.CONFIGURATION,
                f"{str(folder)!r} is no skill: it has more than {MOST_FILES} files",
                "Move what it does not need elsewhere.",
            )
    return tuple(sorted(each for each in found if each != SKILL_FILE))


def measure_skill(folder: Path, files: Sequence[str]) -> int:
    """Return the bytes of a skill's files; one that is gone counts nothing."""
    total = 0
    for name in files:
        with suppress(OSError):
            total += (folder / name).stat().st_size
    return total


def read_skill_file(root: Path, inside: str, folder: Path, name: str) -> bytes | None:
    """Return the bytes of a file of a skill, None if there is none. Raises UserError for a name that leads out of it.

    inside: the skill's folder relative to the workspace at `root`, "" for one of the user's
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        raise UserError(
            Fault.USAGE, f"{name!r} is no file of a skill", "Name it relative to the skill's folder."
        )
    limit = SETTINGS if name == SKILL_FILE else SOURCE
    if inside:
        return read_workspace_file(root, f"{inside}/{name}", limit)
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(
            Fault.USAGE, f"{str(path)!r} is a link that leads out of the skill", "Name another file."
        )
    return read_regular_file(path, limit)


def copy_skill(skill: Skill, root: Path, target: Path) -> Path:
    """Copy a skill's files to a new folder, and return it; links that lead out of it are left out.

    Programs stay executable. Raises UserError if the folder cannot be written.
    """
    for name in (SKILL_FILE, *skill.files):
        try:
            content = read_skill_file(root, skill.inside, skill.folder, name)
        except UserError:
            content = None
        if content is None:
            continue
        path = target / name
        try:
            create_private_folder(path.parent)
            path.write_bytes(content)
            path.chmod(0o700 if os.access(skill.folder / name, os.X_OK) else 0o600)
        except OSError as error:
            shutil.rmtree(target, ignore_errors=True)
            raise UserError(Fault.READ_ONLY, f"cannot write {str(path)!r}: {error.strerror}") from None
    return target
