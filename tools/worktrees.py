"""Work trees beside the user's own: a commit checked out in a folder of ours, worked on, and brought back as one patch.

Objects are shared, so that one costs only its files. git runs the repository's filters (git LFS, say) when it checks
out: make them only where the user lets a repository do that, as in a hook that they installed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.plumbing import Git

LINKED = (".venv", "venv", "node_modules")
"""Folders that a project's commands need and git does not have: linked, when git ignores them, so not made anew."""

_PREFIX = "patchwright-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """One of them. folder: where it lies; base: the commit that it began with"""

    folder: Path
    base: str

    @property
    def git(self) -> Git:
        """git in it."""
        return Git(self.folder, alone=True)

    @property
    def head(self) -> str:
        """The commit that it is at now."""
        return self.git.line("rev-parse", "HEAD")

    def patch(self) -> bytes:
        """All that differs from the beginning, committed or not, new files included: for `git apply --3way`."""
        self.git.run("add", "--all", "--", ".")
        linked = [name for name in LINKED if (self.folder / name).is_symlink()]
        if linked:
            self.git.run("rm", "--cached", "--quiet", "--ignore-unmatch", "--", *linked)
        options = ("--cached", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
        return self.git.run("diff", *options, self.base)


@contextmanager
def worktree(git: Git, commit: str, folder: Path) -> Iterator[Worktree]:
    """A work tree of `commit` in a new folder below `folder`, on no branch; gone afterwards, whatever happens.

    What a kill left behind of earlier ones is removed first. Raises GitFailed.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    git.run("worktree", "prune", ok=range(256))
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)) / git.root.name
    try:
        git.run("worktree", "add", "--detach", "--quiet", str(place), commit)
        _link(git.root, place)
        yield Worktree(folder=place, base=git.line("rev-parse", f"{commit}^{{commit}}"))
    finally:
        for name in LINKED:  # removed as links, never through them
            if (place / name).is_symlink():
                (place / name).unlink()
        shutil.rmtree(place.parent, ignore_errors=True)  # what cannot be removed now, git forgets below
        git.run("worktree", "prune", ok=range(256))


def bring_back(git: Git, patch: bytes) -> None:
    """Apply a patch to the user's work tree, index untouched: wholly or not at all. Raises GitFailed."""
    if patch:
        git.run("apply", "--whitespace=nowarn", "-", stdin=patch)


def _link(root: Path, place: Path) -> None:
    for name in LINKED:
        if (root / name).is_dir() and not os.path.lexists(place / name):
            (place / name).symlink_to(root / name, target_is_directory=True)
