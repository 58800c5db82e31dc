"""Files of a worktree as an archive, and as a repository with one commit on a node."""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Sequence
from gzip import GzipFile
from pathlib import Path

from agent.evaluation.executors.trial_parcel import unpack_folder
from agent.evaluation.runs.base_repository import make_git_folder, run_git
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private

LARGEST = 1 << 30
"""Bytes of a worktree that travels: it is held in the memory of the nodes."""

_LEVEL = 1
"""Of the compression: it is packed once, and unpacked by each node."""


def pack_files(folder: Path, paths: Sequence[str], packed: Path) -> None:
    """Write some files of a folder as an archive, equal for equal files. Blocking. Raises UserError.

    Links that lead out of the folder are left out: their targets do not travel.
    """
    size = 0
    try:
        with (
            open(packed, "wb", opener=open_private) as whole,
            GzipFile("", "wb", compresslevel=_LEVEL, fileobj=whole, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(paths):
                place = folder / path
                if not place.is_symlink() and not place.is_file():  # removed, or a submodule's folder
                    continue
                if place.is_symlink() and _leads_out(path, place.readlink().as_posix()):
                    continue
                member = archive.gettarinfo(place, path)
                member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
                size += member.size
                if size > LARGEST:
                    raise UserError(
                        Fault.CONFIGURATION,
                        f"the files are more than {LARGEST >> 30} GB: too much to send to another machine",
                        "Make the attempts on this one.",
                    )
                if member.isreg():
                    with place.open("rb") as file:
                        archive.addfile(member, file)
                else:
                    archive.addfile(member)
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"the files could not be packed: {error}") from None


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
