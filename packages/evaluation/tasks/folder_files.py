"""Files of a task folder, which a stranger may have made: regular files and links, counted and bounded."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE, read_entry
from sandbox.lazy_dataclass import dataclass

MOST_FILES = 100_000
"""Files of one folder: more than any repository that is a task without being a bundle."""

Kind = Literal["file", "program", "link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """One entry below a folder. path: relative, with "/"; kind: a program is a file with its executable bit set"""

    root: Path
    path: str
    kind: Kind

    def read(self, limit: int = SOURCE) -> bytes:
        """Return the bytes, of a link its target. Raises UserError."""
        place = self.root / self.path
        if self.kind == "link":
            return os.fsencode(place.readlink())
        try:
            return read_entry(str(place), limit)
        except OSError as error:
            raise UserError(Fault.CONFIGURATION, f"cannot read {str(place)!r}: {error.strerror}") from None


def list_folder_files(root: Path, *, skip: frozenset[str] = frozenset()) -> list[FolderFile]:
    """Return all files and links below a folder, sorted by path; folders named `.git` are left out.

    skip: relative paths that are left out. Raises UserError for pipes, devices and too many files.
    """
    found: list[FolderFile] = []
    for each in _walk(root, ""):
        if each.path not in skip:
            found.append(each)
        if len(found) > MOST_FILES:
            raise UserError(Fault.CONFIGURATION, f"{str(root)!r} has more than {MOST_FILES:,} files")
    return sorted(found, key=lambda each: each.path)


def write_files(files: list[FolderFile], target: Path) -> None:
    """Copy files below another folder. What is in their way is removed; a link there is never followed."""
    made: set[Path] = set()
    for each in files:
        place = _prepare_place(target, each.path, made)
        if each.kind == "link":
            place.symlink_to(os.fsdecode(each.read()))
        else:
            _create_file(place, each.read(), 0o755 if each.kind == "program" else 0o644)


def write_contents(contents: Mapping[str, bytes | None], target: Path) -> None:
    """Write files below a folder as `write_files` does; None removes one. Raises UserError for a path outside of it.

    A file that is there keeps its executable bit.
    """
    made: set[Path] = set()
    for path, content in contents.items():
        if path.startswith("/") or "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise UserError(Fault.CONFIGURATION, f"{path!r} is no path inside the folder")
        old = _read_mode(target / path)
        place = _prepare_place(target, path, made)
        if content is not None:
            _create_file(place, content, 0o755 if stat.S_ISREG(old) and old & 0o100 else 0o644)


def _read_mode(place: Path) -> int:
    try:
        return place.lstat().st_mode
    except (OSError, ValueError):
        return 0


def _prepare_place(target: Path, path: str, made: set[Path]) -> Path:
    """Return the place of a file, with nothing there and no link among the folders above it."""
    place = target / path
    _make_parents(target, place.parent, made)
    _remove_entry(place)
    return place


def _create_file(place: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def clear_place(target: Path, path: str) -> None:
    """Remove the entry at a relative path below a folder, of any kind. A link on the way is removed, not followed."""
    place = target
    for part in Path(path).parts:
        if place.is_symlink() or not place.is_dir():
            break
        place /= part
    if place != target:
        _remove_entry(place)


def _remove_entry(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _make_parents(target: Path, folder: Path, made: set[Path]) -> None:
    if folder in made or folder == target:
        return
    _make_parents(target, folder.parent, made)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        folder.unlink()
    folder.mkdir(exist_ok=True)
    made.add(folder)


def _walk(root: Path, inner: str) -> Iterator[FolderFile]:
    try:
        entries = list(os.scandir(root / inner))
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(root / inner)!r}: {error.strerror}") from None
    for entry in entries:
        path = f"{inner}/{entry.name}" if inner else entry.name
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            yield FolderFile(root=root, path=path, kind="link")
        elif stat.S_ISDIR(mode):
            if entry.name != ".git":
                yield from _walk(root, path)
        elif stat.S_ISREG(mode):
            yield FolderFile(root=root, path=path, kind="program" if mode & 0o100 else "file")
        else:
            raise UserError(
                Fault.CONFIGURATION, f"{str(root / path)!r} is neither a file, a folder nor a link"
            )
