"""Reading regular files of bounded size: no pipe, device, socket or endless file under a name blocks this process.

For the workspace see `untrusted_file`: there no link may lead outside.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from sandbox.errors import Fault, UserError

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: opening a pipe without a writer would otherwise block."""

SETTINGS = 1_000_000
"""Bytes of a file of settings, rules or instructions: thousands of lines."""

MANIFEST = 4_000_000
"""Bytes of a manifest or test configuration, as package.json: generated ones are long."""

GIT_FILE = 16_000_000
"""Bytes of a file in a git folder: packed-refs of 200,000 references."""

SOURCE = 64_000_000
"""Bytes of any other file of the workspace that is read as a whole."""


class UnsafeFileError(UserError):
    """A file that is not read: not a regular file, too large, not permitted, or behind a link that leads outside."""


def read_regular_file(path: Path | str, limit: int) -> bytes | None:
    """Return the bytes of a regular file, through links; None if there is none. Raises UnsafeFileError.

    For files whose folder the user or git names: it may be outside the workspace. limit: in bytes
    """
    try:
        return _read(path, None, limit, str(path), READ_FLAGS & ~os.O_NOFOLLOW)
    except PermissionError as error:
        raise build_read_error(str(path), error) from None


def read_first_line(path: Path | str) -> str | None:
    """Return the first line of a regular file, stripped, through links; None if there is none that can be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - asked for every folder
            return None
        descriptor = os.open(path, READ_FLAGS & ~os.O_NOFOLLOW)
    except (OSError, ValueError):  # missing, or not readable: treated as no file
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, _LONGEST_LINE)
    finally:
        os.close(descriptor)
    return content.partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()


_LONGEST_LINE = 8_192
"""Bytes of a line that names a folder or a reference; twice the longest path."""


def read_regular_text(path: Path | str, limit: int, errors: str = "surrogateescape") -> str | None:
    """Return a regular file as UTF-8 text, None if there is none, or none that may be read."""
    try:
        content = read_regular_file(path, limit)
    except UnsafeFileError:
        return None
    return None if content is None else content.decode("utf-8", errors)


def read_entry(path: str, limit: int) -> bytes:
    """Return the bytes of a regular file that is no link. Raises UnsafeFileError, FileNotFoundError."""
    try:
        content = read_bounded(path, None, limit, path)
    except PermissionError as error:
        raise build_read_error(path, error) from None
    if content is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return content


HINT = "Remove it, or put a plain file in its place."

_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR))


def read_bounded(name: str, folder: int | None, limit: int, place: str) -> bytes | None:
    """Return the bytes of a regular file in an open folder that is no link; None if there is none.

    Raises UnsafeFileError and PermissionError. place: its name in errors
    """
    return _read(name, folder, limit, place, READ_FLAGS)


def read_start(name: Path | str, size: int, folder: int | None = None) -> bytes | None:
    """Return the first bytes of a regular file, None if there is none, or none that may be read.

    folder: handle of the folder that it is in; then no link is followed
    """
    flags = READ_FLAGS if folder is not None else READ_FLAGS & ~os.O_NOFOLLOW
    try:
        return _read(name, folder, size, str(name), flags, is_whole=False)
    except (UnsafeFileError, OSError):
        return None


def _read(
    name: Path | str, folder: int | None, limit: int, place: str, flags: int, *, is_whole: bool = True
) -> bytes | None:
    try:
        follows = not flags & os.O_NOFOLLOW
        mode = os.stat(name, dir_fd=folder, follow_symlinks=follows).st_mode
        if not stat.S_ISREG(mode):  # opening a device can have effects
            raise _build_type_error(place, mode)
        descriptor = os.open(name, flags, dir_fd=folder)
    except ValueError:  # a NUL in the name
        return None
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG):  # exchanged since, or a loop
            raise build_read_error(place, error) from None
        raise
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise _build_type_error(place, info.st_mode)
        if is_whole and info.st_size > limit:
            raise _build_size_error(place, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(min(info.st_size + 1, limit + is_whole))  # a buffer no larger than needed
            if len(content) > info.st_size:  # it grows
                content += file.read(max(limit + is_whole - len(content), 0))
    finally:
        os.close(descriptor)
    if len(content) > limit:  # it grows while it is read
        raise _build_size_error(place, limit)
    return content


def _build_type_error(place: str, mode: int) -> UnsafeFileError:
    kind = "a symbolic link" if stat.S_ISLNK(mode) else describe_file_type(mode)
    return UnsafeFileError(Fault.CONFIGURATION, f"{place!r} is not read: it is {kind}, not a file", HINT)


def _build_size_error(place: str, limit: int) -> UnsafeFileError:
    message = f"{place!r} is not read: it is larger than {limit // 1_000_000} MB"
    return UnsafeFileError(Fault.CONFIGURATION, message, HINT)


def build_read_error(place: str, error: OSError) -> UnsafeFileError:
    """Return the error, of one line, for a file that could not be opened."""
    reason = (error.strerror or "it cannot be opened").lower()
    return UnsafeFileError(Fault.CONFIGURATION, f"{place!r} is not read: {reason}")


def describe_file_type(mode: int) -> str:
    """Return what an entry is that is no regular file, with its article."""
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((words for test, words in kinds if test(mode)), "a device")
