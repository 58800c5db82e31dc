"""Watch a tree for folders with changes (inotify(7)), so that the rest need not be rescanned.

Only where the kernel reports everything: Linux, a local file system, nothing mounted below. Where it is
unreliable, the result is that everything has to be rescanned, which is as right, and slower.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from sandbox.lazy_dataclass import dataclass

MOST_SHARE = 4
"""At most one of so many of the user's watches is taken: their editor needs some, too."""

LOCAL = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "tmpfs", "overlay"))
"""File systems on which no file changes without this kernel's knowledge."""

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _IS_FOLDER = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS, _NO_LINKS, _NOT_UNLINKED = 0x01000000, 0x02000000, 0x04000000

_CHANGES = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
)
_WANTED = _CHANGES | _ONLY_FOLDERS | _NO_LINKS | _NOT_UNLINKED
_HEAD = struct.Struct("iIII")

_BUFFER = 1 << 20


@dataclass(slots=True)
class FolderChanges:
    """touched: folders with a change directly in them; anew: folders that came, went or moved, with all below"""

    touched: set[str] = field(default_factory=set)
    anew: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.touched or self.anew)


class Watch:
    """Watch of the folders that are added, by their paths relative to `root`. Not thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reset()

    def _reset(self) -> None:
        self._close: Callable[[], object] = lambda: None
        self._descriptor = -1
        self._most = 0
        self._folders: dict[int, str] = {}
        self._identity: tuple[int, int] | None = None

    def start(self) -> None:
        """Restart, without any folder. Where watching is impossible, every result is None."""
        self.stop()
        if sys.platform != "linux" or not _is_local(self._root):
            return
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:  # none left for this user
            return
        self._close = weakref.finalize(self, os.close, descriptor)
        self._add = libc.inotify_add_watch
        self._descriptor, self._most = descriptor, _read_watch_limit()
        self._identity = _read_identity(self._root)

    def add(self, folder: str) -> None:
        """Watch a folder ("" is the root) from now on. Must be called before it is listed."""
        if self._descriptor < 0:
            return
        if len(self._folders) >= self._most:
            self.stop()
            return
        number = self._add(self._descriptor, os.fsencode(f"{self._root}/{folder}"), _WANTED)
        if number >= 0:
            self._folders[number] = folder
        elif ctypes.get_errno() not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            self.stop()  # with one folder unwatched, the result would be incomplete

    def read_changes(self) -> FolderChanges | None:
        """Return the changes since the last call (or since folders were added); None if they are unknown."""
        if self._descriptor < 0 or self._identity is None or _read_identity(self._root) != self._identity:
            return None
        found = FolderChanges()
        with suppress(BlockingIOError):  # all has been read
            while True:
                if not self._parse_events(os.read(self._descriptor, _BUFFER), found):
                    self.stop()
                    return None
        return found

    def stop(self) -> None:
        """Stop watching. Safe to call twice."""
        self._close()
        self._reset()

    def _parse_events(self, data: bytes, found: FolderChanges) -> bool:
        """Parse events; return False when some were lost, or the tree itself disappeared."""
        at = 0
        while at < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, at)
            start = at + _HEAD.size
            name = os.fsdecode(data[start : start + length].rstrip(b"\0"))
            at = start + length
            if mask & (_OVERFLOW | _UNMOUNT):
                return False
            folder = self._folders.pop(number, None) if mask & _IGNORED else self._folders.get(number)
            if folder is None:
                continue
            if mask & (_IGNORED | _DELETE_SELF | _MOVE_SELF):
                if not folder:
                    return False
                found.anew.add(folder)
            elif name == ".git" and folder:  # it became another repository, or ceased to be one
                found.anew.add(folder)
                found.touched.add(folder.rpartition("/")[0])
            else:
                found.touched.add(folder)
                if mask & _IS_FOLDER and mask & (_CREATE | _DELETE | _MOVED_FROM | _MOVED_TO):
                    found.anew.add(f"{folder}/{name}" if folder else name)
        return True


def _read_identity(root: Path) -> tuple[int, int] | None:
    try:
        info = root.stat()
    except OSError:  # gone
        return None
    return info.st_dev, info.st_ino


def _read_watch_limit() -> int:
    try:
        return int(Path("/proc/sys/fs/inotify/max_user_watches").read_text()) // MOST_SHARE
    except (OSError, ValueError):  # unknown: the default of old kernels
        return 8192 // MOST_SHARE


def _is_local(root: Path) -> bool:
    """Return whether the tree is on one local file system of this machine."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    place = os.path.realpath(root)
    kind, nearest = "", -1
    for line in lines:
        fields = line.split(" ")
        point = _unescape_mount_path(fields[4])
        if point != place and point.startswith(place.rstrip("/") + "/"):
            return False
        if (place == point or place.startswith(point.rstrip("/") + "/")) and len(point) >= nearest:
            kind, nearest = fields[fields.index("-") + 1], len(point)
    return kind in LOCAL


def _unescape_mount_path(text: str) -> str:
    """Decode a path of mountinfo, where blanks and backslashes are octal."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
