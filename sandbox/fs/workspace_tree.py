"""File access in the workspace through folder handles: no path escapes, every write is atomic."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import translate_write_errors
from sandbox.fs.dirfd_walk import (
    FolderEntry,
    NotAFile,
    OutsideWorkspace,
    PathWalk,
    ProtectedPath,
    check_writable,
    probe_write_access,
    replace_file,
)
from sandbox.fs.regular_file import READ_FLAGS, describe_file_type
from sandbox.fs.repository import find_git_dir, find_inner_repository

if TYPE_CHECKING:
    from sandbox.fs.text_file import TextFile

__all__ = ["NotAFile", "OutsideWorkspace", "ProtectedPath", "Tree"]


class Tree:
    """Files below one root folder.

    Paths are relative to the root, or absolute inside it. Symbolic links are followed one component at a
    time, so that none can be swapped between check and use. A missing file raises FileNotFoundError, an
    unreadable one PermissionError.
    denied: whether the user's rules deny reading a path (relative, links resolved)
    """

    def __init__(self, root: Path, denied: Callable[[str], bool] = lambda path: False) -> None:
        self.root = root.resolve()
        self._denied = denied
        self._roots = (self.root, root.absolute())

    def check_writable(self, path: str) -> None:
        """Raise ProtectedPath for git's folder, Patchwright's settings and files of nested repositories.

        path: relative to the root, links resolved
        """
        check_writable(path, self.root)
        if inner := find_inner_repository(self.root, path):
            import shlex

            quoted = shlex.quote(inner)
            is_there = find_git_dir(self.root / inner) is not None
            first = "" if is_there else f"check it out (git submodule update --init {quoted}) and "
            raise ProtectedPath(
                f"{path!r} belongs to the repository in {inner!r}, so from here its change could be neither undone nor"
                f" committed: {first}run patchwright inside it (patchwright run … -C {quoted})"
            )

    def resolve_relative(self, path: str) -> str:
        """Return the path relative to the root, links resolved; it need not exist. "." is the root."""
        with self.open_entry(path) as place:
            return place.path

    def find_relative(self, path: str) -> str:
        """Return the path relative to the root, links resolved; "" for one outside, or that is no path."""
        try:
            return self.resolve_relative(path)
        except (ValueError, OSError):
            return ""

    def has_file(self, path: str, *, or_folder: bool = False) -> bool:
        """Whether the path is a regular file (or a folder) inside the root, whatever else it may be."""
        try:
            return self.is_file(path) or (or_folder and self.is_dir(path))
        except (ValueError, OSError):
            return False

    def is_file(self, path: str) -> bool:
        """Whether the path is a regular file."""
        return stat.S_ISREG(self._stat_mode(path))

    def is_dir(self, path: str) -> bool:
        """Whether the path is a folder."""
        return stat.S_ISDIR(self._stat_mode(path))

    def get_size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        with self._open_file(path) as descriptor:
            return os.fstat(descriptor).st_size

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self._open_file(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()

    def read_text(self, path: str) -> TextFile:
        """Return a file as text that can be written back losslessly. Raises BinaryFile."""
        return self.decode(path, self.read(path))

    def decode(self, path: str, content: bytes) -> TextFile:
        """Return content as the text of the file at `path`, which the repository may declare an encoding for.

        Raises BinaryFile.
        """
        from sandbox.fs.declared_encoding import list_declared_encodings
        from sandbox.fs.text_file import decode_text

        return decode_text(content, list_declared_encodings(self.root, self.resolve_relative(path)))

    def build_new_format(self, path: str, text: str) -> TextFile:
        """Return the format (encoding, byte-order mark) of a new file."""
        from sandbox.fs.declared_encoding import list_declared_encodings, needs_mark
        from sandbox.fs.text_file import build_new_format

        path = self.resolve_relative(path)
        return build_new_format(
            text, list_declared_encodings(self.root, path), needs_mark=needs_mark(self.root, path)
        )

    def write(self, path: str, content: bytes) -> None:
        """Create or replace a file atomically, keeping an old file's mode and owner; parents are created."""
        with self.open_entry(path, make_parents=True) as place, translate_write_errors(path):
            self.check_writable(place.path)
            old = place.stat()
            if old and not stat.S_ISREG(old.st_mode):
                raise NotAFile(
                    f"{path!r} is {describe_file_type(old.st_mode)}, not a file, so it cannot be written"
                )
            if old:
                probe_write_access(place)
            replace_file(place, content, old)

    def write_text(self, path: str, text: str, like: TextFile | None) -> None:
        """Write text in the format (encoding, line endings) of `like`; None: UTF-8 and \\n."""
        from sandbox.fs.text_file import encode_text

        self.write(path, encode_text(text, like))

    def remove(self, path: str) -> None:
        """Remove a file, a link (not its target) or an empty folder."""
        with self.open_entry(path, follow_last=False) as place, translate_write_errors(path):
            self.check_writable(place.path)
            remove = os.rmdir if stat.S_ISDIR(place.require_stat().st_mode) else os.unlink
            remove(place.name, dir_fd=place.folder)

    def _stat_mode(self, path: str) -> int:
        with self.open_entry(path) as place:
            found = place.stat()
        return found.st_mode if found else 0

    @contextmanager
    def _open_file(self, path: str) -> Iterator[int]:
        with self.open_entry(path) as place:
            if self._denied(place.path):
                raise PermissionError(errno.EACCES, "a rule of the user denies reading it", path)
            place.require_stat()
            try:
                descriptor = os.open(place.name, READ_FLAGS, dir_fd=place.folder)
            except OSError as error:
                if error.errno in _SPECIAL_ERRORS:
                    raise NotAFile(f"{path!r} is not a regular file") from None
                raise
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise NotAFile(f"{path!r} is {describe_file_type(mode)}, not a file")
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def open_entry(
        self, path: str, *, follow_last: bool = True, make_parents: bool = False
    ) -> Iterator[FolderEntry]:
        """Resolve `path` and keep the handle of its folder open during the block."""
        walk = PathWalk(self._roots, path)
        try:
            yield walk.resolve_entry(follow_last=follow_last, make_parents=make_parents)
        finally:
            walk.close()


_SPECIAL_ERRORS = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
