"""The file of a new agent, to be filled in."""

from __future__ import annotations

import re
from pathlib import Path

from agent.app_dirs import Home
from agent.extension.extension_files import AGENT_FOLDERS, AGENTS
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder

TEMPLATE = """---
name: {name}
description: Say when to use this agent, in a sentence or two.
tools: Read, Grep, Glob
maxTurns: 30
---

Say what the agent is to do, how, and what its report has to contain.
"""


def write_agent_file(home: Home, root: Path | None, name: str) -> Path:
    """Write the file of a new agent of a project, or of the user where `root` is None. Raises UserError."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", name):
        raise UserError(
            Fault.USAGE,
            f"{name!r} is no name of an agent",
            "Use small letters, digits, - and _, a letter first.",
        )
    folder = home.config / AGENTS if root is None else root / AGENT_FOLDERS[0]
    path = folder / f"{name}.md"
    try:
        if root is None:
            create_private_folder(folder)
        else:
            _make_project_folder(root, folder)
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.format(name=name))
    except FileExistsError:
        raise UserError(Fault.USAGE, f"{str(path)!r} exists", "Edit it, or choose another name.") from None
    except OSError as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {str(path)!r}: {error.strerror}") from None
    return path


def _make_project_folder(root: Path, folder: Path) -> None:
    """Create a folder of a project. Raises UserError if a link in its place leads out of the project."""
    inside = root.resolve()
    for each in (folder.parent, folder):
        if not each.resolve().is_relative_to(inside):
            raise UserError(Fault.USAGE, f"{str(each)!r} is a link that leads outside", "Remove it.")
        each.mkdir(exist_ok=True)
