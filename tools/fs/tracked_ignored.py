"""Files that git tracks although its rules ignore them: ripgrep leaves them out, and they are the user's work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from sandbox.errors import UserError
from sandbox.fs.repository import find_git_folders, find_root
from sandbox.fs.stamped_cache import StampedCache

_MOST = 1_000
"""Files named to one ripgrep."""


def list_tracked_ignored(root: Path, where: str, glob: str | None = None) -> list[str]:
    """Return such files below a path, relative to the workspace. glob: as of `search`"""
    if find_git_folders(root) is None:
        return []
    found = _FOUND.get(str(root), lambda: _ask_git(root))
    prefix = "" if where == "." else f"{where}/"
    return [
        path
        for path in found
        if path.startswith(prefix)
        and (glob is None or PurePosixPath(path).match(glob.lstrip("/")))
        and (root / path).is_file()
    ][:_MOST]


_FOUND = StampedCache[Sequence[str]]()


def _ask_git(root: Path) -> tuple[Sequence[str], list[str]]:
    """Return these files, and all on which the answer depends: a look at each is cheaper than git's own walk."""
    from sandbox.helpers.git_runner import GitRunner
    from sandbox.snapshots.coverage.ignore_rules import RULES, list_outer_rule_files

    folders = find_git_folders(root)
    if folders is None or find_root(root) is None:
        return (), []
    runner = GitRunner(root, {**os.environ, "LC_ALL": "C"}, workspace=root)
    try:
        tracked = runner.run("ls-files", "-z", "--cached").split_fields()
        ignored = runner.run("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        around = (folders[0] / "index", folders[1] / "config", *list_outer_rule_files(root))
    except UserError:  # git says elsewhere what keeps it from its work
        return (), []
    inside = [f"{root}/{folder}/{RULES}" for folder in _list_folders(tracked)]
    return ignored.split_fields() if ignored.returncode == 0 else (), [*map(str, around), *inside]


def _list_folders(files: Iterable[str]) -> set[str]:
    """Return the folders that hold files, and those around them; "" is the top."""
    found = {""}
    for file in files:
        folder = file.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
