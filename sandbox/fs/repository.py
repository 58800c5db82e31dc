"""Locate git repositories and read HEAD from plain files: no process, no git library."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from sandbox.fs.regular_file import (
    GIT_FILE,
    SETTINGS,
    UnsafeFileError,
    read_entry,
    read_first_line,
    read_regular_text,
)
from sandbox.fs.stamped_cache import StampedCache
from sandbox.lazy_pattern import compile_lazily

# git itself refuses longer chains of symbolic references.
_MAX_SYMBOLIC_DEPTH = 5
_HEX = frozenset("0123456789abcdef")
_DIGITS = (40, 64)
"""Hexadecimal digits of an object's id, by the repository's format."""


def find_root(path: Path) -> Path | None:
    """Return the work tree that contains `path`: the nearest folder, itself included, with a usable `.git`."""
    start = path.absolute()
    return next((each for each in (start, *start.parents) if find_git_dir(each) is not None), None)


def find_git_folders(path: Path) -> tuple[Path, Path] | None:
    """Return the git folder of the repository that contains `path`, and the one that all its work trees share.

    Cached while the files that say so stay the same.
    """
    return _GIT_FOLDERS.get(str(path), lambda: _find_git_folders(path))


_GIT_FOLDERS = StampedCache[tuple[Path, Path] | None]()


def _find_git_folders(path: Path) -> tuple[tuple[Path, Path] | None, list[str]]:
    """Return the folders, and the paths on which they depend."""
    root, start = find_root(path), path.absolute()
    above = [each for each in (start, *start.parents) if root is None or root in (each, *each.parents)]
    depends = [f"{each}/.git{name}" for each in above for name in ("", "/HEAD")]
    folder = find_git_dir(root) if root else None
    if folder is None:
        return None, depends
    return (folder, find_common_dir(folder)), [*depends, f"{folder}/HEAD", f"{folder}/commondir"]


def find_inner_repository(root: Path, path: str) -> str:
    """Return the nested repository (submodule or other) that contains `path`, relative to `root`; else "".

    A submodule that is not checked out is an empty folder, and git ignores files put into it.
    """
    folders = [each.as_posix() for each in reversed(PurePosixPath(path).parents)][1:]
    listed = _read_submodule_paths(root) if folders else frozenset()
    for each in folders:
        if find_git_dir(root / each) is not None or (each in listed and _is_empty_folder(root / each)):
            return each
    return ""


_SUBMODULE = compile_lazily(r"^\s*path\s*=\s*\"?(.+?)/?\"?\s*$", re.MULTILINE)


def _read_submodule_paths(root: Path) -> frozenset[str]:
    try:
        content = read_entry(str(root / ".gitmodules"), SETTINGS)
    except (FileNotFoundError, UnsafeFileError):  # git reads no other kind of file either
        return frozenset()
    return frozenset(_SUBMODULE.findall(content.decode("utf-8", "surrogateescape")))


def _is_empty_folder(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except FileNotFoundError:
        return True
    except OSError:  # not a folder, or not readable
        return False


def find_git_dir(root: Path) -> Path | None:
    """Return the repository's git folder: `root/.git`, or the target of the file `.git` (worktrees, submodules)."""
    entry = root / ".git"
    line = read_first_line(entry)
    folder = entry if line is None else (root / line.removeprefix("gitdir:").strip())
    return folder if read_first_line(folder / "HEAD") is not None else None


def find_common_dir(folder: Path) -> Path:
    """Return the folder that all worktrees of a repository share (refs, objects, hooks); mostly `folder` itself."""
    line = read_first_line(folder / "commondir")
    return folder if line is None else (folder / line).resolve()


def find_main_work_tree(root: Path) -> Path | None:
    """Return the main work tree of a linked one (`git worktree add`), None if it is not properly linked."""
    folder = find_git_dir(root)
    back = read_first_line(folder / "gitdir") if folder else None
    if folder is None or back is None or Path(back).resolve() != (root / ".git").resolve():
        return None  # a file `.git` alone proves nothing
    shared = find_common_dir(folder)
    return shared.parent if shared.name == ".git" else None


def read_head_commit(root: Path) -> str:
    """Return the id of the commit checked out at `root`, "" before the first commit."""
    folder = find_git_dir(root)
    return _resolve_reference(folder, "HEAD") if folder else ""


def read_branch(root: Path) -> str:
    """Return the branch checked out at `root`, "" when HEAD is detached."""
    folder = find_git_dir(root)
    line = read_first_line(folder / "HEAD") if folder else None
    if line is None or not line.startswith("ref:"):
        return ""
    return line.removeprefix("ref:").strip().removeprefix("refs/heads/")


def _resolve_reference(folder: Path, name: str) -> str:
    shared = find_common_dir(folder)
    for _ in range(_MAX_SYMBOLIC_DEPTH):
        line = (
            read_first_line(folder / name)
            or read_first_line(shared / name)
            or _read_packed_reference(shared, name)
        )
        if not line.startswith("ref:"):
            return line if len(line) in _DIGITS and _HEX.issuperset(line) else ""
        name = line.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in name.split("/"):
            return ""
    return ""


def _read_packed_reference(shared: Path, name: str) -> str:
    text = read_regular_text(shared / "packed-refs", GIT_FILE) or ""
    lines = (line.partition(" ") for line in text.splitlines() if line[:1] not in ("#", "^"))
    return next((commit for commit, _, ref in lines if ref == name), "")
