"""A private store of git objects: written and read without a process, in git's own format."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sandbox.errors import Fault, UserError, translate_write_errors
from sandbox.fs.private_files import create_private_folder
from sandbox.snapshots.pack import Packs, PackWriter
from sandbox.snapshots.path_state import GIT_NESTED, GIT_TREE

Entry = tuple[int, str]
"""Mode and object id of a tree's entry."""

Pair = tuple[Entry | None, Entry | None]
"""The entries of two trees at one path."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

# A user waits for snapshots, and they are short-lived: speed matters more than the last bytes.
_COMPRESSION = 1

_LENT_TOGETHER = 200
"""Blobs of the other repository that are in memory at a time: another branch may replace most files."""

# The files by which git recognizes a repository, so that ordinary git commands can read the store.
_SKELETON = {
    "HEAD": "ref: refs/heads/none\n",
    "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
}


def compute_object_id(kind: str, content: bytes) -> str:
    """Return the id that git gives to an object."""
    return _compute_hash(_add_object_header(kind, content))


class LostObjectError(UserError):
    """An object of a snapshot is missing or damaged; no data of the user's depends on it."""


class Store:
    """Objects in one folder of Patchwright's, 0700. Processes may share it; each object is written once, atomically.

    damaged: an object existed and could not be read
    lend: returns blobs that another repository has, by id: trees may name them
    """

    def __init__(
        self, folder: Path, lend: Callable[[Sequence[str]], Mapping[str, bytes]] = lambda names: {}
    ) -> None:
        self.folder = folder
        self._lend = lend
        self.damaged = False
        self._root = str(folder)
        self._handle = -1
        self._lock = -1
        self._numbers = itertools.count()
        self._packs = Packs(folder / "objects" / "pack")
        self._packing: PackWriter | None = None

    def write(self, kind: str, content: bytes) -> str:
        """Store an object, unless it exists, and return its id."""
        framed = _add_object_header(kind, content)
        name = _compute_hash(framed)
        with translate_write_errors(str(self.folder)):
            self._open()
            if self._packing is not None:
                self._add_to_pack(self._packing, name, kind, content)
            elif not self.has(name):
                self._write_file(_format_object_path(name), zlib.compress(framed, _COMPRESSION))
        return name

    @contextmanager
    def pack_writes(self) -> Iterator[None]:
        """Collect the objects written meanwhile in one file, if there are many. They become readable when it ends."""
        with translate_write_errors(str(self.folder)):
            self._open()
            self._packs.folder.mkdir(mode=0o700, exist_ok=True)
            self._packing = PackWriter(self._packs.folder, _COMPRESSION)
        try:
            yield
            with translate_write_errors(str(self.folder)):
                self._packing.finish()
        except BaseException:  # a full disk, an interrupt: leave no partial file
            self._packing.abort()
            raise
        finally:
            self._packing = None
            self._packs.close()

    def _add_to_pack(self, writer: PackWriter, name: str, kind: str, content: bytes) -> None:
        if name in writer or self.has(name):
            return
        if writer.is_full:
            writer.finish()
            self._packing = writer = PackWriter(self._packs.folder, _COMPRESSION)
        writer.add(name, kind, content)

    def has(self, name: str) -> bool:
        """Return whether an object exists."""
        if name == EMPTY_TREE or self._packs.find(name) is not None:
            return True
        try:
            return os.stat(f"{self._root}/{_format_object_path(name)}").st_size > 0  # noqa: PTH116 - asked for every file of a tree
        except FileNotFoundError:
            return False

    def adopt(self, names: Sequence[str]) -> None:
        """Store those of the blobs that only the other repository has so far."""
        missing = [name for name in dict.fromkeys(names) if not self.has(name)]
        for start in range(0, len(missing), _LENT_TOGETHER):
            for name, content in self._lend(missing[start : start + _LENT_TOGETHER]).items():
                if compute_object_id("blob", content) == name:
                    self.write("blob", content)

    def read(self, name: str) -> bytes:
        """Return the content of an object. Raises LostObjectError when it is missing or damaged."""
        if name == EMPTY_TREE:
            return b""
        try:
            if (packed := self._packs.find(name)) is not None:
                return packed[0].read(packed[1])
            return _read_loose_object(self.folder / _format_object_path(name))
        except (OSError, zlib.error) as reason:
            if (lent := self._lend([name]).get(name)) is not None and compute_object_id("blob", lent) == name:
                return lent
            self.damaged |= not isinstance(reason, FileNotFoundError)
            message = f"the snapshot object {name!r} is missing or damaged in {str(self.folder)!r}"
            raise LostObjectError(Fault.USAGE, message, "Older states can no longer be restored.") from None

    def write_tree(self, entries: Mapping[str, Entry]) -> str:
        """Store a folder's entries as a tree object."""

        def sort_key(item: tuple[bytes, Entry]) -> bytes:  # git sorts a folder as if its name ended in "/"
            return item[0] + b"/" if item[1][0] == GIT_TREE else item[0]

        named = sorted(((os.fsencode(name), entry) for name, entry in entries.items()), key=sort_key)
        content = b"".join(b"%o %s\0" % (mode, name) + bytes.fromhex(entry) for name, (mode, entry) in named)
        return self.write("tree", content)

    def read_tree(self, name: str) -> dict[str, Entry]:
        """Return the entries of a tree object."""
        content, start, entries = self.read(name), 0, {}
        while start < len(content):
            end = content.index(b"\0", start)
            mode, _, entry = content[start:end].partition(b" ")
            entries[os.fsdecode(entry)] = (int(mode, 8), content[end + 1 : end + 21].hex())
            start = end + 21
        return entries

    def iterate_differences(self, old: str, new: str, prefix: str = "") -> Iterator[tuple[str, Pair]]:
        """Yield every file that differs between two trees; equal sub-trees are not even read."""
        if old == new:
            return
        left, right = self.read_tree(old), self.read_tree(new)
        for name in sorted(left.keys() | right.keys()):
            a, b = left.get(name), right.get(name)
            if a == b:
                continue
            path = prefix + name
            folders = [entry[1] if entry and entry[0] == GIT_TREE else EMPTY_TREE for entry in (a, b)]
            yield from self.iterate_differences(folders[0], folders[1], path + "/")
            a, b = (None if entry and entry[0] == GIT_TREE else entry for entry in (a, b))
            if a or b:
                yield path, (a, b)

    def find_entry(self, tree: str, path: str) -> Entry | None:
        """Return the entry at `path` below a tree."""
        entry: Entry | None = (GIT_TREE, tree)
        for part in path.split("/"):
            if entry is None or entry[0] != GIT_TREE:
                return None
            entry = self.read_tree(entry[1]).get(part)
        return entry

    def prune(self, keep: Sequence[str]) -> int:
        """Delete every object unreachable from the trees of `keep`; return 0 while another process uses the store."""
        with translate_write_errors(str(self.folder)):
            self._open()
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # another session may rely on any object: leave all of them
                return 0
            try:
                return self._delete_unreachable(self._collect_reachable(keep))
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Release the lock, so that others can prune. Safe to call twice; the next write opens the store again."""
        for descriptor in (self._lock, self._handle):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock = self._handle = -1
        self._packs.close()

    def open(self) -> None:
        """Create the folder, if needed, and lock it against pruning by other processes."""
        with translate_write_errors(str(self.folder)):
            self._open()

    def _open(self) -> None:
        if self._lock >= 0:
            return
        for folder in (self.folder, self.folder / "objects", self.folder / "refs", self.folder / "info"):
            create_private_folder(folder)
        self.folder.chmod(0o700)
        if self._handle < 0:
            self._handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name, text in _SKELETON.items():
            if not self._has_file(name):
                self._write_file(name, text.encode())
        lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=self._handle)
        fcntl.flock(lock, fcntl.LOCK_SH)
        self._lock = lock

    def _has_file(self, name: str) -> bool:
        try:
            return os.stat(name, dir_fd=self._handle).st_size > 0
        except FileNotFoundError:
            return False

    def _write_file(self, name: str, content: bytes) -> None:
        """Write a temporary file, then rename: a kill leaves at most that file, which pruning removes."""
        folder, _, _ = name.rpartition("/")
        temporary = f"{folder or '.'}/tmp-{os.getpid()}-{next(self._numbers)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            try:
                descriptor = os.open(temporary, flags, 0o600, dir_fd=self._handle)
            except FileNotFoundError:  # the first object whose id starts with these two digits
                with suppress(FileExistsError):  # another session was quicker
                    os.mkdir(folder, 0o700, dir_fd=self._handle)
                descriptor = os.open(temporary, flags, 0o600, dir_fd=self._handle)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except OSError:  # a full disk, most likely: do not make it fuller
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self._handle)
            raise

    def _collect_reachable(self, keep: Sequence[str]) -> set[str]:
        seen: set[str] = set()
        waiting = [name for name in keep if self.has(name)]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for mode, entry in self.read_tree(name).values():
                if mode == GIT_TREE:
                    waiting.append(entry)
                elif mode != GIT_NESTED:
                    seen.add(entry)
        return seen

    def drop_damaged(self) -> int:
        """Delete every unreadable object, so that it is stored again when next needed. Returns the number deleted."""
        with translate_write_errors(str(self.folder)):
            removed = self._packs.drop_damaged(_COMPRESSION)
        for path in self.folder.glob("objects/??/*"):
            try:
                _read_loose_object(path)
            except (OSError, zlib.error):
                with suppress(OSError):
                    path.unlink()
                    removed += 1
        self.damaged = False
        return removed

    def _delete_unreachable(self, keep: set[str]) -> int:
        removed = self._packs.prune(keep, _COMPRESSION) if self._packs.folder.is_dir() else 0
        for folder in (self.folder / "objects").iterdir():
            for path in folder.iterdir() if folder != self._packs.folder else ():
                if folder.name + path.name not in keep:
                    path.unlink()
                    removed += 1
        return removed


def _format_object_path(name: str) -> str:
    return f"objects/{name[:2]}/{name[2:]}"


def _read_loose_object(path: Path) -> bytes:
    """Return the content of a loose object. Raises OSError and zlib.error."""
    return zlib.decompress(path.read_bytes()).partition(b"\0")[2]


def _compute_hash(framed: bytes) -> str:
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest()


def _add_object_header(kind: str, content: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode(), len(content)) + content
