"""Files of a merge as they stand on disk, and the places where new ones can be made."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from agent.team.merge.merge_result import ConflictKind
from sandbox.fs.regular_file import SOURCE, UnsafeFileError, read_bounded
from sandbox.fs.workspace_tree import Tree
from tools.edit.apply.edit_plan import PlannedFile

TYPES = "a file for one side, a link for the other"


class Unmergeable(Exception):
    """Raised while one file is planned: it has no merge."""

    def __init__(self, kind: ConflictKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: ConflictKind = kind


class FileState(NamedTuple):
    """A file or link as a merge compares it; the content of a link is its text."""

    content: bytes
    is_link: bool
    is_executable: bool

    @classmethod
    def from_mode(cls, content: bytes, mode: int) -> FileState:
        """mode: st_mode, or git's"""
        link = stat.S_ISLNK(mode)
        return cls(content, link, not link and bool(mode & stat.S_IXUSR))


class PresentFile(NamedTuple):
    """A file or link on disk. mode: st_mode"""

    content: bytes
    mode: int

    @property
    def state(self) -> FileState:
        return FileState.from_mode(self.content, self.mode)


def read_present_file(tree: Tree, path: str) -> PresentFile | None:
    """Return the parent's file, None where there is none. Raises Unmergeable for what is no file."""
    try:
        with tree.open_entry(path, follow_last=False) as entry:
            if entry.path != path:
                raise Unmergeable("type", "its folder is a link for the parent")
            found = entry.stat()
            if found is None:
                return None
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(entry.name, dir_fd=entry.folder)
                return PresentFile(os.fsencode(target), found.st_mode)
            if stat.S_ISDIR(found.st_mode):
                raise Unmergeable("folder", "a folder for the parent, a file for the child")
            content = read_bounded(entry.name, entry.folder, SOURCE, path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise Unmergeable("type", f"it cannot be read: {error.strerror}") from None
    except (UnsafeFileError, ValueError) as error:  # a pipe, too large, behind a link that leads outside
        raise Unmergeable("type", str(error)) from None
    return None if content is None else PresentFile(content, found.st_mode)


def check_new_place(tree: Tree, path: str) -> None:
    """Raise Unmergeable where a file cannot be made: something stands there, or a file in place of its folder."""
    names = [*list_folders(path), path]
    for name in names:
        try:
            with tree.open_entry(name, follow_last=False) as entry:
                found = None if entry.path != name else entry.stat()
                is_moved = entry.path != name
        except ValueError:  # a link that leads outside
            found, is_moved = None, True
        if is_moved:
            raise Unmergeable("type", "its folder is a link for the parent")
        if found is None:
            return
        if name == path:
            raise Unmergeable("folder", "something else stands at its place")
        if not stat.S_ISDIR(found.st_mode):
            raise Unmergeable("folder", f"{name!r} is no folder for the parent")


def build_planned_file(
    path: str, present: PresentFile | None, wanted: FileState | None, moved: PresentFile | None = None
) -> PlannedFile | None:
    """Return the change that gives a path the wanted state; None where it has it. moved: where it comes from"""
    if wanted is None:
        return None if present is None else _plan(path, present.content, None)
    if present is not None and present.state == wanted:
        return None
    like = present or moved
    bits = None
    if not wanted.is_link and (like is None or stat.S_ISLNK(like.mode)):
        bits = _NEW_PROGRAM if wanted.is_executable else None
    elif not wanted.is_link and like is not None:
        bits = _set_executable(stat.S_IMODE(like.mode), wanted=wanted.is_executable)
        if present is not None and bits == stat.S_IMODE(present.mode):
            bits = None
    before = None if present is None else present.content
    return _plan(path, before, wanted.content, mode=bits, is_link=wanted.is_link)


def list_folders(path: str) -> list[str]:
    """Return the folders that a path is in, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


_NEW_PROGRAM = 0o755
"""Bits of a new executable file: what a checkout gives under the usual umask."""


def _plan(
    path: str, before: bytes | None, after: bytes | None, *, mode: int | None = None, is_link: bool = False
) -> PlannedFile:
    return PlannedFile(
        path=path,
        before=before,
        after=after,
        old_text=_decode(before),
        new_text=_decode(after),
        mode=mode,
        place="link" if is_link else "entry",
    )


def _decode(content: bytes | None) -> str:
    return "" if content is None or b"\0" in content else content.decode("utf-8", "replace")


def _set_executable(bits: int, *, wanted: bool) -> int:
    if bool(bits & stat.S_IXUSR) == wanted:
        return bits
    return bits | ((bits & 0o444) >> 2) if wanted else bits & ~0o111
