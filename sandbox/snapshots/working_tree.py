"""The present workspace: states of paths and changes to them, through handles of real folders."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sandbox.fs.repository import find_git_dir, read_head_commit
from sandbox.snapshots.coverage.sealed import set_mode, unseal_file
from sandbox.snapshots.object_store import compute_object_id
from sandbox.snapshots.path_state import GIT_NESTED, State, format_special_mark

# Larger files are data or build results; keeping each version would fill the disk.
MAX_FILE_SIZE = 10_000_000

# Of the files that our tools write, every version is kept up to here; larger ones are not written by them.
MAX_WRITTEN_SIZE = 256_000_000

# Following a link that was put in a folder's place would lead out of the workspace.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# Errors that mean "there is no such path": a missing or non-folder component, or a link in it.
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


class WorkingTree:
    """One workspace's files, by relative path."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read_state(self, path: str, most: int = MAX_FILE_SIZE) -> State | None:
        """Return the state of `path`; None if it is missing, or behind a link; a plain folder has the id "".

        most: bytes from which on a file has a mark in place of its content
        """
        try:
            with self._open_parent(path) as (folder, name):
                return self._compute_state(path, folder, name, most)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise

    def read(self, path: str, state: State) -> bytes:
        """Return the bytes of the file, or a link's target, that has this state."""
        with self._open_parent(path) as (folder, name):
            return read_file_or_link(name, state.mode, folder, most=MAX_WRITTEN_SIZE)

    def iterate_files_below(self, path: str) -> Iterator[str]:
        """Yield every path below a folder that is not a folder itself."""
        for folder, folders, files in os.walk(self._root / path):
            place = Path(folder)
            linked = [name for name in folders if (place / name).is_symlink()]
            for name in (*files, *linked):
                yield str((place / name).relative_to(self._root))

    def write(self, path: str, state: State, content: bytes) -> None:
        """Write a file, link or pipe at `path` atomically, with missing parents."""
        with self._open_parent(path, make=True) as (folder, name):
            # The same name at each attempt: the next one removes the leftover of a kill.
            temporary = f".patchwright-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
            _unlink_if_present(temporary, folder)
            try:
                if state.is_link:
                    os.symlink(content, temporary, dir_fd=folder)
                elif stat.S_ISFIFO(state.mode):
                    os.mkfifo(temporary, 0o600, dir_fd=folder)
                    set_mode(temporary, stat.S_IMODE(state.mode), folder)
                else:
                    _create_file(temporary, folder, content, stat.S_IMODE(state.mode))
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:  # full, read-only: leave no litter; the old file is unchanged
                _unlink_if_present(temporary, folder)
                raise

    def remove(self, path: str) -> None:
        """Remove a file or link."""
        with self._open_parent(path) as (folder, name):
            _unlink_if_present(name, folder)

    def make_folder(self, path: str) -> None:
        """Make an empty folder, with missing parents, unless it or a parent's place is taken."""
        try:
            with self._open_parent(path, make=True) as (folder, name):
                _make_folder_if_missing(name, folder)
        except OSError as error:
            if error.errno not in _ABSENT:  # else a file or link of the user's is in a parent's place
                raise

    def remove_if_empty(self, path: str) -> bool:
        """Remove a folder unless it has entries; return whether it was removed."""
        try:
            with self._open_parent(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
            return True
        except OSError:  # not empty, missing, not a folder: then there is nothing to tidy
            return False

    def read_folder_mode(self, path: str) -> int | None:
        """Return the permission bits of the folder at `path` ("" is the workspace); None if there is none."""
        if not path:
            return stat.S_IMODE(self._root.stat().st_mode)
        try:
            with self._open_parent(path) as (folder, name):
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # gone, or behind an inaccessible folder: it cannot be changed
            return None
        return stat.S_IMODE(info.st_mode) if stat.S_ISDIR(info.st_mode) else None

    def set_folder_mode(self, path: str, mode: int) -> None:
        """Set the permission bits of the folder at `path`."""
        if not path:
            self._root.chmod(mode)
            return
        with self._open_parent(path) as (folder, name):
            try:
                handle = os.open(name, _FOLDER, dir_fd=folder)
            except PermissionError:  # it cannot be listed, which the new bits may fix
                if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    set_mode(name, mode, folder)
                return
            try:
                os.fchmod(handle, mode)
            finally:
                os.close(handle)

    def iterate_folders_from(self, path: str) -> Iterator[str]:
        """Yield the folder at `path` and all below it, children first."""
        for folder, _, _ in os.walk(self._root / path, topdown=False):
            yield os.path.relpath(folder, self._root)

    def remove_empty_folders(self, path: str) -> None:
        """Remove a folder that contains only empty folders."""
        for folder in self.iterate_folders_from(path):
            self.remove_if_empty(folder)

    def _compute_state(self, path: str, folder: int, name: str, most: int) -> State:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            place = self._root / path
            nested = find_git_dir(place) is not None
            return (
                State(mode=GIT_NESTED, id=read_head_commit(place))
                if nested
                else State(mode=stat.S_IFDIR, id="")
            )
        if stat.S_ISREG(info.st_mode) and info.st_size > most:
            return State(mode=info.st_mode, id=format_large_mark(info.st_size, info.st_mtime_ns))
        if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            content = read_file_or_link(name, info.st_mode, folder, most=most)
            return State(mode=info.st_mode, id=compute_object_id("blob", content))
        return State(mode=info.st_mode, id=format_special_mark(info.st_mode, info.st_rdev))

    @contextmanager
    def _open_parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Yield a handle of the folder that holds `path`, reached without following any link below the root."""
        *parents, name = path.split("/")
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parents:
                if make:
                    _make_folder_if_missing(part, handle)
                inner = os.open(part, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle, name
        finally:
            os.close(handle)


def format_large_mark(size: int, mtime_ns: int) -> str:
    """Return the mark in place of the content of a file too large to keep."""
    return f"{size}@{mtime_ns}"


def read_file_or_link(
    path: str, mode: int, folder: int | None = None, *, unseal: bool = True, most: int = MAX_FILE_SIZE
) -> bytes:
    """Return the bytes of a regular file, or a link's target; never the content behind a link.

    unseal: a file of this user's that may not be read is made readable for the moment
    most: bytes of a file that is read; a larger one raises OSError
    """
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path, dir_fd=folder))
    try:
        return _read_file(path, folder, most)
    except PermissionError:
        if not unseal:
            raise
    with unseal_file(path, folder):
        return _read_file(path, folder, most)


def _read_file(path: str, folder: int | None, most: int) -> bytes:
    # Non-blocking, in case a pipe has taken the file's place.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, dir_fd=folder), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "it is no longer a file", path)
        # Not the limit, for which a buffer of its size would be made for each file.
        content = file.read(min(info.st_size, most) + 1)
        if len(content) > info.st_size:  # it grows
            content += file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"larger than {most // 1_000_000} MB", path)
    return content


def _create_file(name: str, folder: int, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), mode)  # not by the open call: that is subject to the umask
        os.fsync(file.fileno())


def _unlink_if_present(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):  # already as wanted
        os.unlink(name, dir_fd=folder)


def _make_folder_if_missing(name: str, folder: int) -> None:
    with suppress(FileExistsError):  # already as wanted, or opening it will fail
        os.mkdir(name, dir_fd=folder)
