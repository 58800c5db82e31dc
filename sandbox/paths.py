"""The workspace's files, reached through folder handles: no path leads outside, no write is half done."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.guarded import GIT, OWN
from sandbox.textfile import TextFile, decode, encode


class OutsideWorkspace(ValueError):
    """A path that is empty, malformed, or leads out of the workspace; the text is for the model."""


class ProtectedPath(ValueError):
    """A path that may be read but not changed; the text is for the model."""


class NotAFile(ValueError):
    """A folder, pipe, socket or device where a file is needed; the text is for the model."""


class Tree:
    """One folder and what lies below it.

    Paths are relative to the root, or absolute inside it. Symbolic links are followed by hand, one
    component at a time, so that none can be swapped for another between the check and the use.
    A missing file is FileNotFoundError, one that cannot be read PermissionError, as everywhere.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._roots = (self.root, root.absolute())

    def relative(self, path: str) -> str:
        """The path from the root to what `path` names, links followed; it need not exist. "." is the root."""
        with self._walk(path) as place:
            return place.path

    def is_file(self, path: str) -> bool:
        """A regular file stands there."""
        return stat.S_ISREG(self._mode(path))

    def is_dir(self, path: str) -> bool:
        """A folder stands there."""
        return stat.S_ISDIR(self._mode(path))

    def size(self, path: str) -> int:
        """Bytes in a file."""
        with self._open(path) as descriptor:
            return os.fstat(descriptor).st_size

    def read(self, path: str) -> bytes:
        """The whole content of a file."""
        with self._open(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()

    def read_text(self, path: str) -> TextFile:
        """A file as text that can be written back byte for byte. Raises BinaryFile."""
        return decode(self.read(path))

    def write(self, path: str, content: bytes) -> None:
        """Replace or make the file in one step. An old one's mode and owner stay; parents are made."""
        with self._walk(path, make_parents=True) as place, _as_user_errors(path):
            _check_writable(place.path)
            old = place.stat()
            if old and not stat.S_ISREG(old.st_mode):
                raise NotAFile(f"{path!r} is {_kind(old.st_mode)}, not a file, so it cannot be written")
            if old:
                _ask_to_write(place)
            _replace(place, content, old)

    def write_text(self, path: str, text: str, like: TextFile | None) -> None:
        """Write text in the manner (encoding, line endings) of the file it came from; None: UTF-8 and \\n."""
        self.write(path, encode(text, like))

    def remove(self, path: str) -> None:
        """Remove a file, a link (not what it leads to) or an empty folder."""
        with self._walk(path, follow_last=False) as place, _as_user_errors(path):
            _check_writable(place.path)
            remove = os.rmdir if stat.S_ISDIR(place.must_exist().st_mode) else os.unlink
            remove(place.name, dir_fd=place.folder)

    def move(self, old: str, new: str) -> None:
        """Rename a file, link or folder; parents are made. Raises FileExistsError, nothing is replaced."""
        with (
            self._walk(old, follow_last=False) as source,
            self._walk(new, follow_last=False, make_parents=True) as target,
            _as_user_errors(new),
        ):
            _check_writable(source.path)
            _check_writable(target.path)
            source.must_exist()
            if target.stat():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
            os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)

    def _mode(self, path: str) -> int:
        with self._walk(path) as place:
            found = place.stat()
        return found.st_mode if found else 0

    @contextmanager
    def _open(self, path: str) -> Iterator[int]:
        with self._walk(path) as place:
            place.must_exist()
            try:
                descriptor = os.open(place.name, _READ_FLAGS, dir_fd=place.folder)
            except OSError as error:
                if error.errno in _SPECIAL_ERRORS:
                    raise NotAFile(f"{path!r} is not a regular file") from None
                raise
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise NotAFile(f"{path!r} is {_kind(mode)}, not a file")
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _walk(self, path: str, *, follow_last: bool = True, make_parents: bool = False) -> Iterator[_Place]:
        """Go to where `path` leads and hold its folder open."""
        walk = _Walk(self._roots, path)
        try:
            yield walk.to_the_end(follow_last=follow_last, make_parents=make_parents)
        finally:
            walk.close()


_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
"""O_PATH (Linux): a folder that can be entered but not listed is enough."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: opening a pipe that nobody writes to would wait for ever."""

_SPECIAL_ERRORS = (errno.ELOOP, errno.ENXIO, errno.EISDIR)

_MOST_LINKS = 40
"""As many as Linux follows in one path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """An entry in an open folder. folder: -1 when it does not exist, then neither does the entry."""

    folder: int
    name: str
    path: str

    def stat(self) -> os.stat_result | None:
        if self.folder < 0:
            return None
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def must_exist(self) -> os.stat_result:
        found = self.stat()
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        return found


class _Walk:
    """A walk from the root down, with every folder on the way held open, so that `..` is the way we came.

    roots: the real root, and the ways in which it may be spelled
    """

    def __init__(self, roots: tuple[Path, ...], path: str) -> None:
        self._roots = roots
        self._path = path
        self._todo = _components(roots, path)[::-1]
        self._names: list[str] = []
        self._handles = [os.open(roots[0], _DIRECTORY_FLAGS)]
        self._links = 0

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def to_the_end(self, *, follow_last: bool, make_parents: bool) -> _Place:
        while self._todo:
            name = self._todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self._back()
            elif self._is_last() and not follow_last:
                return self._place(name)
            elif target := self._link(name):
                self._follow(target)
            elif self._is_last():
                return self._place(name)
            else:
                self._enter(name, make=make_parents)
        return self._place(".")

    def _is_last(self) -> bool:
        return all(rest in ("", ".") for rest in self._todo)

    def _exists(self) -> bool:
        """The folder that we are in; in one that does not exist only names are counted."""
        return len(self._handles) == len(self._names) + 1

    def _place(self, name: str) -> _Place:
        names = self._names if name == "." else [*self._names, name]
        folder = self._handles[-1] if self._exists() else -1
        return _Place(folder=folder, name=name, path="/".join(names) or ".")

    def _back(self) -> None:
        if not self._names:
            raise _outside(self._path)
        if self._exists():
            os.close(self._handles.pop())
        self._names.pop()

    def _link(self, name: str) -> str:
        """Where the link of that name leads, "" if there is none."""
        if not self._exists():
            return ""
        try:
            return os.readlink(name, dir_fd=self._handles[-1])
        except OSError:  # EINVAL: it is no link; ENOENT, ENOTDIR: it is nothing; EACCES: its use will say so
            return ""

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OutsideWorkspace(f"{self._path!r} goes round in circles of symbolic links")
        if target.startswith("/"):
            while self._names:
                self._back()
        self._todo += _components(self._roots, target, self._path)[::-1]

    def _enter(self, name: str, *, make: bool) -> None:
        if make:
            _check_writable("/".join([*self._names, name]))
        if self._exists():
            try:
                self._handles.append(self._open_folder(name, make=make))
            except FileNotFoundError:
                pass  # the rest of the path is only counted
            except NotADirectoryError:
                if make:
                    raise NotAFile(f"{self._path!r} cannot be made: {name!r} is a file") from None
        self._names.append(name)

    def _open_folder(self, name: str, *, make: bool) -> int:
        if make:
            with suppress(FileExistsError), _as_user_errors(self._path):
                os.mkdir(name, dir_fd=self._handles[-1])
        try:
            return os.open(name, _DIRECTORY_FLAGS, dir_fd=self._handles[-1])
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link took the folder's place since we looked
                raise _outside(self._path) from None
            raise


def _components(roots: tuple[Path, ...], path: str, asked: str = "") -> list[str]:
    """The names to walk from the root, or from where a link stands. asked: the path that led to that link."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded or any(len(name) > _LONGEST_NAME for name in encoded.split(b"/")):
        raise OutsideWorkspace(f"{path[:80]!r} cannot be a path; give one relative to the workspace")
    if not path.startswith("/"):
        return path.split("/")
    given = Path(path)
    for root in roots:
        if given.is_relative_to(root):
            return list(given.relative_to(root).parts)
    resolved = given.resolve()  # the root may be reached through a link that we were not told of
    if resolved.is_relative_to(roots[0]):
        return list(resolved.relative_to(roots[0]).parts)
    raise _outside(asked or path)


_LONGEST_NAME = 255
"""Bytes; of every file system in common use."""


def _check_writable(path: str) -> None:
    parts = path.split("/")
    if parts[0] in OWN or any(part.casefold() == GIT for part in parts):
        raise ProtectedPath(f"{path!r} is protected: git's folder and patchwright's settings are not edited")
    if path == ".":
        raise ProtectedPath("the workspace itself cannot be replaced, moved or removed")


def _outside(path: str) -> OutsideWorkspace:
    return OutsideWorkspace(f"{path!r} is outside the workspace; only files inside it can be used")


def _ask_to_write(place: _Place) -> None:
    """Fail as writing in place would: renaming over it needs no permission for the file itself."""
    try:
        os.close(os.open(place.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder))
    except OSError as error:
        if error.errno != errno.ETXTBSY:  # a program that is running can be replaced, just not overwritten
            raise


def _replace(place: _Place, content: bytes, old: os.stat_result | None) -> None:
    """Write beside the target, then rename over it: a reader or a crash sees the old file or the new one."""
    temporary = f".patchwright-{os.urandom(6).hex()}.tmp"
    mode = 0o600 if old else 0o666  # a new file's is cut by the umask, as any program's
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode, dir_fd=place.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if old:
                _keep_ownership(descriptor, old)
            os.fsync(descriptor)
        os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:  # an interrupt, too, leaves no temporary file; the error goes on
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise


def _keep_ownership(descriptor: int, old: os.stat_result) -> None:
    with suppress(PermissionError):  # only root may give files away; the content is what was asked for
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


_FAULTS = {
    errno.ENOSPC: (Fault.STORAGE_FULL, "the disk is full", "Free some space, then go on: nothing was lost."),
    errno.EDQUOT: (Fault.STORAGE_FULL, "your disk quota is used up", "Free some space, then go on."),
    errno.EROFS: (Fault.READ_ONLY, "the file system is read-only", ""),
    errno.EACCES: (Fault.READ_ONLY, "no permission", "Change the mode of the file or of its folder."),
    errno.EPERM: (Fault.READ_ONLY, "the system forbids it", "Look at its attributes (lsattr) and owner."),
}


@contextmanager
def _as_user_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FAULTS:
            raise
        fault, reason, hint = _FAULTS[error.errno]
        raise UserError(fault, f"cannot write {path!r}: {reason}", hint) from None


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((words for test, words in kinds if test(mode)), "a device")
