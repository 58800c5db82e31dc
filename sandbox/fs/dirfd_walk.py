"""Path resolution through open folder handles (no path escapes the workspace) and atomic file replacement."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from sandbox.errors import translate_write_errors
from sandbox.fs.installation import is_own_file
from sandbox.lazy_dataclass import dataclass


class OutsideWorkspace(ValueError):
    """A path that is empty, malformed or outside the workspace; the message is for the model."""


class ProtectedPath(ValueError):
    """A path that may be read but not changed; the message is for the model."""


class NotAFile(ValueError):
    """A folder, pipe, socket or device where a regular file is needed; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderEntry:
    """Name of an entry in an open folder; the entry itself need not exist.

    folder: file descriptor of the folder; -1 if the folder does not exist (then neither does the entry)
    missing: folders on the path that do not exist, outermost first
    is_linked: a symbolic link was followed on the way
    """

    folder: int
    name: str
    path: str
    missing: tuple[str, ...] = ()
    is_linked: bool = False

    def stat(self) -> os.stat_result | None:
        if self.folder < 0:
            return None
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def require_stat(self) -> os.stat_result:
        found = self.stat()
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        return found


class PathWalk:
    """Walk of a path from the root, with every folder on the way kept open, for `..` to return to.

    roots: the resolved root, and its other spellings
    """

    def __init__(self, roots: tuple[Path, ...], path: str) -> None:
        self._roots = roots
        self._path = path
        self._todo = _split_components(roots, path)[::-1]
        self._names: list[str] = []
        self._handles = [os.open(roots[0], _DIRECTORY_FLAGS)]
        self._links = 0
        self._target = ""

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def resolve_entry(self, *, follow_last: bool, make_parents: bool) -> FolderEntry:
        while self._todo:
            name = self._todo.pop()
            if name == "..":
                self._go_up()
            elif not (self._todo or follow_last):
                return self._build_entry(name)
            elif target := self._read_link(name):
                self._follow_link(target)
            elif not self._todo:
                return self._build_entry(name)
            else:
                self._enter_folder(name, make=make_parents)
        return self._build_entry(".")

    def _folder_exists(self) -> bool:
        """Whether the current folder exists; below a missing folder only names are tracked."""
        return len(self._handles) == len(self._names) + 1

    def _build_entry(self, name: str) -> FolderEntry:
        names = self._names if name == "." else [*self._names, name]
        folder = self._handles[-1] if self._folder_exists() else -1
        deep = range(len(self._handles), len(self._names) + 1)
        missing = tuple("/".join(self._names[:depth]) for depth in deep)
        path = "/".join(names) or "."
        return FolderEntry(folder=folder, name=name, path=path, missing=missing, is_linked=bool(self._target))

    def _go_up(self) -> None:
        if not self._names:
            raise _build_outside_error(self._path, self._target)
        if self._folder_exists():
            os.close(self._handles.pop())
        self._names.pop()

    def _read_link(self, name: str) -> str:
        """Return the target of the symbolic link with that name, "" if it is none."""
        if not self._folder_exists():
            return ""
        try:
            return os.readlink(name, dir_fd=self._handles[-1])
        except OSError:  # EINVAL: no link; ENOENT, ENOTDIR: missing; EACCES: reported when the path is used
            return ""

    def _follow_link(self, target: str) -> None:
        self._links += 1
        self._target = target
        if self._links > _MOST_LINKS:
            raise OutsideWorkspace(f"{self._path!r} goes round in circles of symbolic links")
        if target.startswith("/"):
            while self._names:
                self._go_up()
        self._todo += _split_components(self._roots, target, self._path)[::-1]

    def _enter_folder(self, name: str, *, make: bool) -> None:
        if make:
            check_writable("/".join([*self._names, name]), self._roots[0])
        if self._folder_exists():
            try:
                self._handles.append(self._open_folder(name, make=make))
            except FileNotFoundError:
                pass  # for the rest of the path only names are tracked
            except NotADirectoryError:
                if make:
                    raise NotAFile(f"{self._path!r} cannot be made: {name!r} is a file") from None
        self._names.append(name)

    def _open_folder(self, name: str, *, make: bool) -> int:
        if make:
            with suppress(FileExistsError), translate_write_errors(self._path):
                os.mkdir(name, dir_fd=self._handles[-1])
        try:
            return os.open(name, _DIRECTORY_FLAGS, dir_fd=self._handles[-1])
        except OSError as error:
            if error.errno == errno.ELOOP:  # the folder was replaced by a link since the check
                raise _build_outside_error(self._path) from None
            raise


def check_writable(path: str, root: Path) -> None:
    """Raise ProtectedPath for a path that must not be edited. path: relative to the root, links resolved"""
    from sandbox.fs.protected_paths import GIT, OWN

    parts = path.split("/")
    if parts[0] in OWN or any(part.casefold() == GIT for part in parts):
        raise ProtectedPath(f"{path!r} is protected: git's folder and patchwright's settings are not edited")
    if is_own_file(root / path, root):
        raise ProtectedPath(f"{path!r} is protected: Patchwright itself is installed there")
    if path == ".":
        raise ProtectedPath("the workspace itself cannot be replaced, moved or removed")


def probe_write_access(place: FolderEntry) -> None:
    """Raise OSError if the file is not writable: renaming over it would not check the file's own permission."""
    try:
        os.close(os.open(place.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder))
    except OSError as error:
        if error.errno != errno.ETXTBSY:  # a running program can be replaced, though not overwritten
            raise


def create_sibling_file(
    place: FolderEntry, temporary: str, content: bytes, old: os.stat_result | None
) -> int:
    """Create a file in the folder of `place` with the mode and owner of the file that it will replace.

    Returns its file descriptor; the content is not synced yet. On an error the temporary file is removed.
    """
    mode = 0o600 if old else 0o666  # the umask applies to a new file, as in any program
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode, dir_fd=place.folder)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        if old:
            _copy_ownership(descriptor, old)
    except BaseException:  # also an interrupt leaves no temporary file
        os.close(descriptor)
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise
    return descriptor


def replace_file(place: FolderEntry, content: bytes, old: os.stat_result | None) -> None:
    """Replace a file atomically: write a temporary file in the same folder, sync it, rename it over the target."""
    temporary = make_temporary_name()
    descriptor = create_sibling_file(place, temporary, content, old)
    try:
        os.fsync(descriptor)
        os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:  # as above
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise
    finally:
        os.close(descriptor)


def make_temporary_name() -> str:
    """Return a unique temporary file name."""
    return f".patchwright-{os.urandom(6).hex()}.tmp"


_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
"""O_PATH (Linux) opens folders that can be entered but not listed."""

_MOST_LINKS = 40
"""Symbolic links followed in one path; the limit of Linux."""


def _split_components(roots: tuple[Path, ...], path: str, asked: str = "") -> list[str]:
    """Split a path into names relative to the root or to the folder of a link.

    asked: the original path, if `path` is the target of a link in it
    """
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded or any(len(name) > LONGEST_NAME for name in encoded.split(b"/")):
        raise OutsideWorkspace(f"{path[:80]!r} cannot be a path; give one relative to the workspace")
    if not path.startswith("/"):
        return [name for name in path.split("/") if name not in ("", ".")]
    given = Path(path)
    for root in roots:
        if given.is_relative_to(root):
            return list(given.relative_to(root).parts)
    resolved = given.resolve()  # the root may be reached through an unknown link
    if resolved.is_relative_to(roots[0]):
        return list(resolved.relative_to(roots[0]).parts)
    raise _build_outside_error(asked or path, path if asked else "")


LONGEST_NAME = 255
"""Bytes in a file name; the limit of all common file systems."""


def _build_outside_error(path: str, target: str = "") -> OutsideWorkspace:
    """Return the error. target: text of the link that leads outside"""
    from sandbox.fs.content_stores import describe_way

    way = describe_way(path, target)
    rest = f"; {way}" if way else ""
    return OutsideWorkspace(f"{path!r} is outside the workspace; only files inside it can be used{rest}")


def _copy_ownership(descriptor: int, old: os.stat_result) -> None:
    with suppress(PermissionError):  # only root may change the owner; the content matters more
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
