"""What may not be written although it lies in the workspace: git's folders, our settings."""

from __future__ import annotations

from pathlib import Path

from sandbox.repository import common_dir, git_dir

GIT = ".git"

OWN = ("patchwright.toml", ".patchwright")
"""Our settings in a project: they say what we run, so only a person changes them."""


def guarded_places(root: Path) -> list[Path]:
    """Existing places under guard, links resolved; of a worktree or submodule the real git folders."""
    entries = [path for name in (GIT, *OWN) if (path := root / name).exists()]
    places = [path.resolve() for path in entries]
    if (folder := git_dir(root)) and (root / GIT).is_file():
        places += [folder.resolve(), common_dir(folder).resolve()]
    return list(dict.fromkeys(places))
