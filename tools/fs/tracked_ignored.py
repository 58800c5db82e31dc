"""Files that git tracks although its rules ignore them: ripgrep leaves them out, and they are the user's work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from sandbox.errors import UserError
from sandbox.fs.repository import find_git_folders, find_root
from sandbox.fs.stamped_cache import StampedCache

_MOST = 1_000
"""Files named to one ripgrep."""


def list_tracked_ignored(root: Path, where: str, glob: str | None = None) -> list[str]:
    """Return such files below a path, relative to the workspace. glob: as of `search`"""
    folders = find_git_folders(root)
    if folders is None:
        return []
    rules = [root / ".gitignore", folders[0] / "index", folders[1] / "info" / "exclude"]
    found = _FOUND.get(str(root), lambda: (_ask_git(root), list(map(str, rules))))
    prefix = "" if where == "." else f"{where}/"
    return [
        path
        for path in found
        if path.startswith(prefix)
        and (glob is None or PurePosixPath(path).match(glob.lstrip("/")))
        and (root / path).is_file()
    ][:_MOST]


_FOUND = StampedCache[Sequence[str]]()


def _ask_git(root: Path) -> Sequence[str]:
    from sandbox.helpers.git_runner import GitRunner

    if find_root(root) is None:
        return ()
    runner = GitRunner(root, {**os.environ, "LC_ALL": "C"}, workspace=root)
    try:
        done = runner.run("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
    except UserError:  # git says elsewhere what keeps it from its work
        return ()
    return done.split_fields() if done.returncode == 0 else ()
