"""Files of a worktree as an archive, and as a repository with one commit on a node."""

from __future__ import annotations

import os
import posixpath
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO

from packages.evaluation.runs.base_repository import make_git_folder, run_git
from packages.scale.cluster.archives import unpack_folder
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private
from sandbox.fs.regular_file import READ_FLAGS
from sandbox.fs.workspace_tree import OutsideWorkspace, Tree

LARGEST = 1 << 30
"""Bytes of a worktree that travels: it is held in the memory of the nodes."""

_LEVEL = 1
"""Of the compression: it is packed once, and unpacked by each node."""


def pack_files(folder: Path, paths: Sequence[str], packed: Path) -> None:
    """Write some files of a folder as an archive, equal for equal files. Blocking. Raises UserError.

    Links that lead out of the folder are left out: their targets do not travel. So is a path through a link: an attempt
    may have put one in the place of a folder whose files git still lists.
    """
    tree = Tree(folder)
    size = 0
    try:
        with (
            open(packed, "wb", opener=open_private) as whole,
            GzipFile("", "wb", compresslevel=_LEVEL, fileobj=whole, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(paths):
                with _open_member(tree, path, archive) as (member, file):
                    if member is None:
                        continue
                    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
                    size += member.size
                    if size > LARGEST:
                        raise UserError(
                            Fault.CONFIGURATION,
                            f"the files are more than {LARGEST >> 30} GB: too much to send to another machine",
                            "Make the attempts on this one.",
                        )
                    archive.addfile(member, file)
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"the files could not be packed: {error}") from None


@contextmanager
def _open_member(
    tree: Tree, path: str, archive: tarfile.TarFile
) -> Iterator[tuple[tarfile.TarInfo | None, BinaryIO | None]]:
    """Open a file by the handle of its folder, and keep it open: no other one can take its place meanwhile.

    Yields no member for a path that does not travel, and no file for a link.
    """
    with ExitStack() as opened:
        try:
            entry = opened.enter_context(tree.open_entry(path, follow_last=False))
        except OutsideWorkspace:
            yield None, None
            return
        found = entry.stat() if entry.path == posixpath.normpath(path) else None
        if found is not None and stat.S_ISLNK(found.st_mode):
            yield _build_link(path, os.readlink(entry.name, dir_fd=entry.folder)), None
            return
        if found is None or not stat.S_ISREG(found.st_mode):  # removed, or a submodule's folder
            yield None, None
            return
        file = opened.enter_context(os.fdopen(os.open(entry.name, READ_FLAGS, dir_fd=entry.folder), "rb"))
        member = archive.gettarinfo(arcname=path, fileobj=file)
        yield member, file if member.isreg() else None


def _build_link(path: str, target: str) -> tarfile.TarInfo | None:
    """Return the member for a link, None if it leads out of the folder."""
    if _leads_out(path, target):
        return None
    member = tarfile.TarInfo(path)
    member.type, member.linkname, member.mode = tarfile.SYMTYPE, target, 0o777
    return member


def _leads_out(path: str, target: str) -> bool:
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return target.startswith("/") or joined.split("/")[0] == ".."


class CopiedWorktree:
    """A worktree's files on a node: a repository with one commit. Blocking."""

    def __init__(self, folder: Path, parcel: Path) -> None:
        """Unpack an archive into a new folder. Raises UserError."""
        unpack_folder(parcel, folder)
        make_git_folder(folder / ".git")
        run_git(folder, "add", "--all", "--force", "--", ".")
        run_git(folder, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "Base")
        self.folder = folder
        self._tree = self._write_tree()

    def build_patch(self) -> bytes:
        """Return the changes since the last call, new files included, ignored ones not. Raises UserError."""
        run_git(self.folder, "add", "--all", "--", ".")
        before, self._tree = self._tree, self._write_tree()
        options = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
        return run_git(self.folder, "diff", *options, before, self._tree)

    def _write_tree(self) -> str:
        return run_git(self.folder, "write-tree").decode().strip()
