"""Files that configure the tests of a worktree, put back before the checker: an agent's would decide what passes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from packages.evaluation.tasks.folder_files import write_contents
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file

CONFIGURATION_FILES = frozenset(
    ("conftest.py", "pytest.ini", ".pytest.ini", "sitecustomize.py", "usercustomize.py")
)
"""Loaded by Python or pytest for being there. Not pyproject.toml, which holds an agent's honest work, too."""


def read_configuration(work: Path) -> dict[str, bytes | None]:
    """Return the files by path; None for what is no regular file. Blocking."""
    found: dict[str, bytes | None] = {}
    for folder, folders, files in os.walk(work):
        if ".git" in folders:
            folders.remove(".git")
        for name in CONFIGURATION_FILES.intersection((*files, *folders)):
            path = str(Path(folder, name).relative_to(work))
            found[path] = read_workspace_file(work, path, SOURCE)
    return found


def restore_configuration(work: Path, kept: dict[str, bytes | None], changed: Iterable[str]) -> None:
    """Write the files back as `read_configuration` found them, and remove others. Blocking.

    changed: paths that the reference changes, which stay as the agent left them
    """
    left = frozenset(changed)
    now = read_configuration(work)
    changes = dict.fromkeys(now.keys() - kept.keys() - left)
    back = {
        path: content
        for path, content in kept.items()
        if content is not None and path not in left and now.get(path) != content
    }
    write_contents({**changes, **back}, work)
