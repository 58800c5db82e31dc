"""Files of a plugin's source before they are taken: a folder, or one commit of a git repository."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass

MOST_FILES = 5_000
"""Files of one plugin: the largest public ones have some hundred."""

MOST_BYTES = 64_000_000
"""Bytes of one plugin."""

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".DS_Store"})


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A regular file. size: in bytes; is_program: whether it can be started"""

    size: int
    is_program: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """Regular files by name, relative and with `/`.

    origin: address or folder, for messages; commit: "" for a folder
    left_out: links, submodules and special files, a line each
    read: returns the contents of files by name
    """

    origin: str
    commit: str
    entries: Mapping[str, SourceEntry]
    left_out: tuple[str, ...]
    read: Callable[[Sequence[str]], Mapping[str, bytes]]

    def narrow(self, path: str) -> SourceTree:
        """Return the files below a folder. Raises UserError if there are none."""
        parts = [each for each in PurePosixPath(path).parts if each != "."]
        if ".." in parts or path.startswith("/"):
            raise UserError(Fault.USAGE, f"{path!r} leads out of {self.origin!r}", "Name a folder inside.")
        if not parts:
            return self
        prefix = "/".join(parts) + "/"
        entries = {
            name.removeprefix(prefix): each for name, each in self.entries.items() if name.startswith(prefix)
        }
        if not entries:
            raise UserError(
                Fault.USAGE, f"{self.origin!r} has no folder {path!r}", "Name one that it has, or none."
            )
        read = self.read
        left = tuple(each.removeprefix(prefix) for each in self.left_out if each.startswith(prefix))

        def read_below(names: Sequence[str]) -> Mapping[str, bytes]:
            found = read([f"{prefix}{name}" for name in names])
            return {name.removeprefix(prefix): content for name, content in found.items()}

        return replace(self, entries=entries, left_out=left, read=read_below)

    def read_file(self, name: str, limit: int) -> bytes | None:
        """Return the content of a file, None if there is none, or a larger one."""
        entry = self.entries.get(name)
        if entry is None or entry.size > limit:
            return None
        return self.read([name]).get(name)

    def read_all(self) -> Mapping[str, bytes]:
        """Return the contents of all files. Raises UserError if they are too many."""
        total = sum(each.size for each in self.entries.values())
        if len(self.entries) > MOST_FILES or total > MOST_BYTES:
            raise UserError(
                Fault.USAGE,
                f"{self.origin!r} is too large for a plugin: {len(self.entries)} files, {total} bytes",
                f"At most {MOST_FILES} files and {MOST_BYTES} bytes are taken; name a folder inside with --path.",
            )
        return self.read(sorted(self.entries))


def open_folder(folder: Path) -> SourceTree:
    """Return the files of a folder; links and special files are left out."""
    entries: dict[str, SourceEntry] = {}
    left = []
    for base, folders, names in os.walk(folder):
        shown = Path(base).relative_to(folder)
        linked = [each for each in folders if Path(base, each).is_symlink()]
        folders[:] = sorted(each for each in folders if each not in _SKIPPED and each not in linked)
        left += [f"{(shown / each).as_posix()}: a link" for each in linked]
        for name in names:
            path, short = Path(base, name), (shown / name).as_posix()
            if name in _SKIPPED:
                continue
            if path.is_symlink() or not path.is_file():
                left.append(f"{short}: a link, or no file")
                continue
            info = path.stat()
            entries[short] = SourceEntry(info.st_size, bool(info.st_mode & 0o100))
        if len(entries) > 20 * MOST_FILES:
            raise UserError(
                Fault.USAGE, f"{str(folder)!r} has too many files for a plugin", "Name one inside it."
            )

    def read(names: Sequence[str]) -> Mapping[str, bytes]:
        return {name: read_regular_file(folder / name, SOURCE) or b"" for name in names}

    return SourceTree(origin=str(folder), commit="", entries=entries, left_out=tuple(left), read=read)


def compute_tree_digest(files: Mapping[str, bytes], programs: frozenset[str]) -> str:
    """Return a digest of files: their names, contents, and which of them can be started."""
    whole = hashlib.sha256()
    for name in sorted(files):
        content = hashlib.sha256(files[name]).hexdigest()
        whole.update(f"{name!r} {name in programs} {content}\n".encode())
    return whole.hexdigest()
