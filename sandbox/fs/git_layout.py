"""Folders that a work tree's git uses, read from plain files, and which of them another repository's are.

A file `.git` that names a repository elsewhere sends every commit there; alternates and symbolic links in a git
folder show its content.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sandbox.fs.git_settings import read_git_settings, read_plain_file
from sandbox.fs.repository import find_common_dir, find_git_dir
from sandbox.fs.stamped_cache import StampedCache
from sandbox.lazy_dataclass import dataclass

_LINKABLE = (
    "HEAD",
    "config",
    "index",
    "info",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "worktrees",
)
"""Entries of a git folder that would lead git elsewhere as links. Hooks have a trust of their own."""

_DEEPEST = 5
"""Alternates of alternates that git follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLayout:
    """Absolute paths, links resolved.

    own: the git folder of the work tree; shared: the one that all work trees of the repository share
    borrowed: folders of objects that it takes from other repositories
    linked: targets of links in these folders
    foreign: pairs of a name and the folder elsewhere that it leads to, which is not linked back
    """

    own: str
    shared: str
    borrowed: tuple[str, ...]
    linked: tuple[str, ...]
    foreign: tuple[tuple[str, str], ...]


def read_git_layout(root: Path) -> GitLayout | None:
    """Return the layout of the repository at `root`, None if there is none. A millisecond, then cached."""
    return _LAYOUTS.get(str(root), lambda: _read_layout(root))


_LAYOUTS = StampedCache[GitLayout | None]()


def list_alternates(objects: Path) -> Iterator[str]:
    """Yield the folders from which a folder of objects borrows, those of its alternates included."""
    waiting, seen = [(objects, 0)], {os.path.realpath(objects)}
    while waiting:
        folder, depth = waiting.pop()
        for line in read_plain_file(folder / "info/alternates").splitlines():
            if not line or line.startswith("#"):
                continue
            real = os.path.realpath(folder / _unquote(line))
            if real not in seen:
                seen.add(real)
                yield real
                if depth < _DEEPEST:
                    waiting.append((Path(real), depth + 1))


def _unquote(line: str) -> str:
    """Undo git's quoting of a path with special characters."""
    if not (len(line) > 1 and line.startswith('"') and line.endswith('"')):
        return line
    with suppress(UnicodeError):  # no valid quoting: taken as it is
        return line[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape")
    return line


def _read_layout(root: Path) -> tuple[GitLayout | None, list[str]]:
    """Return the layout, and the paths on which it depends."""
    entry = root / ".git"
    folder = find_git_dir(root)
    if folder is None:
        return None, [str(entry), f"{entry}/HEAD"]
    own, shared = folder.resolve(), find_common_dir(folder).resolve()
    borrowed = tuple(list_alternates(shared / "objects"))
    links = [
        (name, (place / name).resolve())
        for place in dict.fromkeys((own, shared))
        for name in _LINKABLE
        if (place / name).is_symlink()
    ]
    inside = (root.resolve(), own, shared)
    foreign = list(_iterate_foreign_folders(root, own, shared))
    foreign += [(f".git/{name}", target) for name, target in links if not _is_inside(target, inside)]
    foreign += [
        (".git/objects/info/alternates", Path(each))
        for each in borrowed
        if not _is_inside(Path(each), inside)
    ]
    layout = GitLayout(
        own=str(own),
        shared=str(shared),
        borrowed=borrowed,
        linked=tuple(str(target) for _, target in links),
        foreign=tuple((name, str(target)) for name, target in foreign),
    )
    depends = [str(entry), *(f"{own}/{name}" for name in ("", "HEAD", "commondir", "gitdir", "config"))]
    depends += [str(shared), *(f"{each}/info/alternates" for each in (f"{shared}/objects", *borrowed))]
    return layout, depends


def _iterate_foreign_folders(root: Path, own: Path, shared: Path) -> Iterator[tuple[str, Path]]:
    entry = root / ".git"
    if not _is_folder(entry) and not _names_work_tree(own, shared, root):
        yield ".git", own
    elif shared not in (own, own.parent.parent):
        yield ".git/commondir", shared


def _names_work_tree(own: Path, shared: Path, root: Path) -> bool:
    """Return whether a git folder names this work tree in turn: as a linked one, or as a submodule's."""
    back = read_plain_file(own / "gitdir").strip()
    if back:  # relative to the folder since git 2.48
        linked = own.parent.name == "worktrees" and shared == own.parent.parent
        return linked and (own / back).resolve() == (root / ".git").resolve()
    trees = [value for key, value in read_git_settings(own / "config") if key == "core.worktree"]
    return bool(trees) and (own / trees[-1]).resolve() == root.resolve()


def _is_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path == each or each in path.parents for each in folders)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:  # gone
        return False
