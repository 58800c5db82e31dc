"""Files of a repository, as listed by git."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.errors import UserError
from tools.git.git_process import Git

MOST_FILES = 200_000
"""Maximum of listed files: beyond that, matching would be slower than typing."""


def list_files(root: Path) -> list[str]:
    """Return files that git tracks or would track; outside a repository those of a bounded walk."""
    try:
        listed = Git(root).run("ls-files", "-z", "--cached", "--others", "--exclude-standard", timeout=5)
    except (OSError, UserError):  # no repository, no git, or a file system that hangs: walk the folder
        return _walk_folder(root)
    return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})[:MOST_FILES]


def _walk_folder(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names)]  # noqa: PTH118
        if len(found) > MOST_FILES // 20:  # perhaps a home directory: stop early
            break
    return found
