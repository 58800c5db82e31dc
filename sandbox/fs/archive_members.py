"""Members of a stranger's archive: inside of the folder that they are unpacked to, and leading nowhere else.

By the handles of folders, not by paths, and without the filter of `tarfile`, which not every Python has: a member can
lie neither beside the folder nor below a link.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import stat
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_DEEPEST = 100
"""Folders above a member: programs that walk or remove a folder by recursion end at some hundreds."""

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


LARGEST_HEADER = 1 << 20
"""Bytes of a long name or of extended fields: `tarfile` holds each in memory."""

MOST_MEMBERS = 1_000_000

_HEADERS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)


class BoundedTarInfo(tarfile.TarInfo):
    """A member whose headers are bounded, and whose size leads no reader backwards (it would go on for ever)."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> BoundedTarInfo:  # type: ignore[override]
        """Read a header. Raises tarfile.TarError for one that a stranger made to keep its reader busy."""
        made = super().frombuf(buf, encoding, errors)
        if made.size < 0 or (made.type in _HEADERS and made.size > LARGEST_HEADER):
            raise tarfile.TarError(f"a header of {made.size} bytes")
        return made


def iterate_members(tar: tarfile.TarFile, largest: int | None = None) -> Iterator[tarfile.TarInfo]:
    """Yield the members of an archive that was opened with `BoundedTarInfo`. Raises tarfile.TarError.

    largest: bytes that all together may have
    """
    size = 0
    try:
        for number, member in enumerate(tar):
            size += member.size
            if member.size < 0 or number >= MOST_MEMBERS or (largest is not None and size > largest):
                limit = f"{largest >> 30} GB" if largest is not None else "its size says"
                raise tarfile.TarError(f"it holds more than {limit}, or {MOST_MEMBERS:,} members")
            yield member
    except RecursionError:  # headers in a row, each of which is for the next one
        raise tarfile.TarError("its headers are nested too deep") from None


def extract_members(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract an archive into a folder that only this process uses. Raises tarfile.TarError for a device, for a member
    that lies beside the folder or below a link, and for a link that leads out of it; then no link is left."""
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    links: dict[str, tarfile.TarInfo] = {}  # of members of one name the last counts
    try:
        for member in iterate_members(tar):
            if member.issym():  # after all else, so that nothing is written through one
                links[posixpath.normpath(member.name)] = member
            else:
                links.pop(posixpath.normpath(member.name), None)
                _extract_member(tar, member, root)
        _make_links(links.values(), root, folder)
    except (OSError, ValueError) as error:  # a name that is too long, that holds a NUL, that is there twice
        raise tarfile.TarError(f"it cannot be unpacked: {error}") from None
    finally:
        os.close(root)


def _extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, root: int) -> None:
    parts = _split_name(member.name)
    if member.isdir():
        with _open_folder(root, parts, member.name):
            return
    if not parts or not (member.isreg() or member.islnk()):
        raise tarfile.TarError(f"{member.name!r} is no file, folder or link")
    with _open_folder(root, parts[:-1], member.name) as parent:
        _remove_earlier(parent, parts[-1])
        if member.islnk():
            _link_file(root, member, parent, parts[-1])
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(parts[-1], flags, 0o600, dir_fd=parent)
        with os.fdopen(target, "wb") as file:
            source = tar.extractfile(member)
            if source is not None:
                shutil.copyfileobj(source, file, 1 << 20)
            os.fchmod(target, (member.mode & 0o755) | 0o600)
            file.flush()
            with suppress(OverflowError):
                os.utime(target, (member.mtime, member.mtime))


def _link_file(root: int, member: tarfile.TarInfo, parent: int, name: str) -> None:
    """Make a second name for a file that was extracted before."""
    *folders, last = _split_name(member.linkname) or [""]
    with _open_folder(root, folders, member.name, is_made=False) as source:
        if not stat.S_ISREG(os.stat(last, dir_fd=source, follow_symlinks=False).st_mode):
            raise tarfile.TarError(f"{member.name!r} is a second name of no file")
        os.link(last, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)


def _make_links(links: Iterable[tarfile.TarInfo], root: int, folder: Path) -> None:
    made: list[Path] = []
    inside = os.path.realpath(folder)
    try:
        for member in links:
            *folders, last = _split_name(member.name) or [""]
            if not last or member.linkname.startswith("/") or _leads_out(member):
                raise tarfile.TarError(f"{member.name!r} leads out of the folder")
            with _open_folder(root, folders, member.name) as parent:
                _remove_earlier(parent, last)
                os.symlink(member.linkname, last, dir_fd=parent)
            made.append(folder.joinpath(*folders, last))
        for link in made:  # only now: a link may lead through another one
            target = os.path.realpath(link)
            if target != inside and not target.startswith(f"{inside}/"):
                raise tarfile.TarError(f"{str(link.relative_to(folder))!r} leads out of the folder")
    except BaseException:  # on any exception no link is left, then the exception is raised again
        for link in made:
            link.unlink(missing_ok=True)
        raise


def _leads_out(member: tarfile.TarInfo) -> bool:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(member.name), member.linkname))
    return target.split("/")[0] == ".."


def _split_name(name: str) -> list[str]:
    """Return the parts of a member's name, [] for the folder itself. Raises tarfile.TarError if it lies beside it."""
    parts = [each for each in name.split("/") if each not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise tarfile.TarError(f"{name!r} leads out of the folder")
    if len(parts) > _DEEPEST:
        raise tarfile.TarError(f"{name[:40]!r}… lies below more than {_DEEPEST} folders")
    return parts


def _remove_earlier(parent: int, name: str) -> None:
    """Remove a member of the same name that came before, as the last one counts. Raises OSError for a folder."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


@contextmanager
def _open_folder(root: int, parts: list[str], name: str, *, is_made: bool = True) -> Iterator[int]:
    """Open a folder by its parts, making those that are missing. Raises tarfile.TarError where one is a link."""
    handle = os.dup(root)
    try:
        for part in parts:
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=handle)
            try:
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=handle)
            except NotADirectoryError:  # with O_DIRECTORY also for a link
                raise tarfile.TarError(f"{name!r} lies below what is no folder") from None
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)
