"""Workspace root of a folder."""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.repository import find_root

_WITHOUT = ", or pass --no-commit to work without git"


def find_workspace_root(working: Path, *, need_git: bool, without: str = _WITHOUT) -> tuple[Path, bool]:
    """Return (workspace root, is a git repository). Raises UserError for an unusable folder.

    without: hint for working without git, if that is possible
    """
    working = resolve_folder(working)
    root = find_root(working)
    if root is None and need_git:
        raise create_no_repository_error(working, without)
    return root or working, root is not None


def find_working_folder(root: Path, working: Path) -> str:
    """Return the folder in which a person works, relative to the workspace; "" for its root."""
    inner = working.resolve()
    return inner.relative_to(root).as_posix() if root in inner.parents else ""


def resolve_folder(folder: Path) -> Path:
    """Return a folder's real path. Raises UserError if it does not exist."""
    if not folder.is_dir():
        wrong = "this is a file, not a folder" if folder.exists() else "no such folder"
        raise UserError(
            Fault.USAGE,
            f"{wrong}: {str(folder)!r}",
            "Name the folder of your project with -C, or go there first.",
        )
    try:
        return folder.resolve()
    except FileNotFoundError:
        raise UserError(
            Fault.USAGE,
            "the current folder does not exist any more",
            "Go to another one, or name it with -C DIR",
        ) from None


def create_no_repository_error(path: Path, without: str = _WITHOUT) -> UserError:
    """Build the error for a folder outside any git repository, or in one without files to work on."""
    if all((path / name).exists() for name in ("HEAD", "objects", "refs")):
        return UserError(
            Fault.NOT_A_REPOSITORY,
            f"a bare git repository, or a .git folder, has no files to work on: {str(path)!r}",
            "Work in a clone (`git clone`), or in a worktree of it (`git worktree add ../NAME`).",
        )
    return UserError(
        Fault.NOT_A_REPOSITORY,
        f"not in a git repository: {str(path)!r}",
        f"Run `git init` there first{without}.",
    )
