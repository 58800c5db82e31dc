"""What the session changed, file by file: the version it found and the version that is there now."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.repository import git_dir
from tools.action import ToolFailure
from tools.git.entries import Entry
from tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a file: a link's content is its target.

    mode: as git writes it; "" when nobody noted it
    """

    mode: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A file that the session changed.

    path: relative to the repository, no link on the way to it
    keys: its names in `Workspace.changed` (more than one when it was changed through a link as well)
    base: before the first change, None if it was not there
    now: at present, None if it is gone
    lost: there was a version before, of which nobody kept the content
    """

    path: str
    keys: tuple[str, ...]
    base: Version | None
    now: Version | None
    lost: bool = False


def touched(at: Workspace, root: Path, head: Mapping[str, Entry]) -> list[Touched]:
    """Files that now differ from what the session found, in order of first change.

    root: the repository's work tree; the workspace may be a folder in it
    head: the entries of the last commit
    """
    real = root.resolve()
    keys: dict[str, list[str]] = {}
    for key in at.changed:
        path = _place(at, key, real, head)
        if path is not None:
            keys.setdefault(path, []).append(key)
    found = []
    for path, names in keys.items():
        base, now = _base(at, names[0]), _now(real / path)
        lost = not at.lost.isdisjoint(names)
        if lost or (base != now and not (base and now and _same(base, now))):
            found.append(Touched(path=path, keys=tuple(names), base=base, now=now, lost=lost))
    return found


def holder(root: Path, path: str, head: Mapping[str, Entry]) -> str:
    """The submodule or nested repository that `path` lies in, or ""."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count])
        if head.get(folder, ("", ""))[0] == "160000" or git_dir(root / folder) is not None:
            return folder
    return ""


def _place(at: Workspace, key: str, real: Path, head: Mapping[str, Entry]) -> str | None:
    """Where a changed file really lies. Tools write through links: then the link's target is what changed."""
    here = at.root / key
    path = here.parent.resolve() / here.name
    if path.is_symlink() and _is_old_link(at, key, path, real, head):
        path = path.resolve()
    return path.relative_to(real).as_posix() if path.is_relative_to(real) else None


def _is_old_link(at: Workspace, key: str, path: Path, real: Path, head: Mapping[str, Entry]) -> bool:
    """The link stood there before the session: it was written through, not made."""
    if at.changed[key] is None or stat.S_ISLNK(at.modes.get(key, 0)):
        return False
    name = path.relative_to(real).as_posix() if path.is_relative_to(real) else ""
    return head.get(name, ("120000", ""))[0] == "120000"


def _base(at: Workspace, key: str) -> Version | None:
    content = at.changed[key]
    if content is None:
        return None
    mode = at.modes.get(key)
    return Version(mode="" if mode is None else _git_mode(mode), content=content)


def _now(path: Path) -> Version | None:
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            return Version(mode=_git_mode(info.st_mode), content=os.fsencode(path.readlink()))
        if stat.S_ISREG(info.st_mode):
            return Version(mode=_git_mode(info.st_mode), content=path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):  # gone, or its folder is
        return None
    except PermissionError as error:  # not to be taken for a deletion
        raise ToolFailure(f"{str(path)!r} cannot be read, so nothing was done: {error.strerror}") from None
    return None  # a folder, socket or pipe stands there: no file to git


def _same(base: Version, now: Version) -> bool:
    return base.content == now.content and base.mode in ("", now.mode)


def _git_mode(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "120000"
    return "100755" if mode & stat.S_IXUSR else "100644"
