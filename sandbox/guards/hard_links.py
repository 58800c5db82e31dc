"""Hard links from a workspace to files outside: copied before a command may write, because it would write both."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.fs.dirfd_walk import make_temporary_name
from sandbox.fs.installation import is_inside
from sandbox.guards.folder_handles import open_folder
from sandbox.guards.folder_record import Identity
from sandbox.guards.workspace_inventory import Inventory
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedLinks:
    """Result for one workspace. failed: path and reason of each link that is left"""

    copied: int = 0
    failed: Mapping[Path, str]


class OutsideLinks:
    """Replaces each name of a file that has more names than the workspace holds by a copy of the file."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._left: frozenset[Identity] = frozenset()

    def copy_files(self, guarded: Sequence[Path]) -> CopiedLinks:
        """Copy all that lead outside now.

        guarded: places that commands cannot write; a name there counts as one outside
        """
        found = self._find_files(guarded)
        if not found.keys() <= self._left:
            self._inventory.reload()  # a name that came or went changes the count of the others unnoticed
            found = self._find_files(guarded)
        by_folder: dict[str, list[tuple[str, Identity]]] = {}
        for identity, names in found.items():
            for folder, name in names:
                by_folder.setdefault(folder, []).append((name, identity))
        copier = _Copier()
        failed: dict[Path, str] = {}
        left: set[Identity] = set()
        copied = 0
        for folder, files in by_folder.items():
            try:
                with open_folder(self._inventory.root, folder) as handle:
                    for name, identity in files:
                        try:
                            copied += copier.replace_by_copy(handle, name, identity)
                        except OSError as error:  # full, or a file that we may not read
                            failed[self._inventory.root / folder / name] = error.strerror or "cannot be read"
                            left.add(identity)
            except OSError:  # gone, or exchanged for a link: no command can reach these names
                continue
        self._left = frozenset(left)
        return CopiedLinks(copied=copied, failed=failed)

    def _find_files(self, guarded: Sequence[Path]) -> Mapping[Identity, list[tuple[str, str]]]:
        """Return folder and name of the names to replace, by file."""
        linked = self._inventory.list_linked()
        if not linked:
            return {}
        root = str(self._inventory.root)
        closed = [os.path.relpath(each, root) for each in guarded if is_inside(str(each), root)]
        found = {}
        for identity, names in linked.items():
            open_names = [
                (folder, name)
                for folder, name, _ in names
                if not any(is_inside(f"{folder}/{name}" if folder else name, each) for each in closed)
            ]
            if open_names and max(count for _, _, count in names) > len(open_names):
                found[identity] = open_names
        return found


class _Copier:
    """Copies files, sharing their blocks where the file system can (btrfs, XFS, bcachefs)."""

    def __init__(self) -> None:
        self._clones = True

    def replace_by_copy(self, folder: int, name: str, identity: Identity) -> bool:
        """Replace a file by a copy with its mode, owner, times and attributes; False if it is another by now."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            source = os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            return False
        try:
            info = os.fstat(source)
            same = (info.st_dev, info.st_ino) == identity
            if not same or not stat.S_ISREG(info.st_mode) or info.st_nlink < 2:
                return False
            self._copy(source, info, folder, name)
        finally:
            os.close(source)
        return True

    def _copy(self, source: int, info: os.stat_result, folder: int, name: str) -> None:
        temporary = make_temporary_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            try:
                self._copy_content(source, target, info.st_size)
                _copy_attributes(source, target, info)
            finally:
                os.close(target)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:  # an interrupt, too, leaves no temporary file
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _copy_content(self, source: int, target: int, size: int) -> None:
        if self._clones:
            try:
                fcntl.ioctl(target, _FICLONE, source)
                return
            except OSError:  # the file system cannot: not asked again
                self._clones = False
        if size <= _AT_ONCE:
            while block := os.read(source, _AT_ONCE):
                _write_whole(target, block)
            return
        while os.sendfile(target, source, None, _AT_ONCE):
            pass


_FICLONE = 0x40049409  # linux/fs.h

_AT_ONCE = 1 << 20


def _write_whole(target: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(target, view) :]


def _copy_attributes(source: int, target: int, info: os.stat_result) -> None:
    if (info.st_uid, info.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):  # only root may: then the copy is ours, like all that we write
            os.fchown(target, info.st_uid, info.st_gid)
    os.fchmod(target, stat.S_IMODE(info.st_mode) & ~_SPECIAL)
    for attribute in _list_attributes(source):
        with suppress(OSError):  # reserved to root, or gone
            os.setxattr(target, attribute, os.getxattr(source, attribute))
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))


_SPECIAL = stat.S_ISUID | stat.S_ISGID
"""Not copied: the copy of a setuid program would be a second one, in a folder that commands write."""


def _list_attributes(source: int) -> Collection[str]:
    try:
        return os.listxattr(source)
    except (AttributeError, OSError):  # macOS, or the file system has none
        return ()
