"""Files of a workspace and their changes: names from ripgrep, stamps from the file system."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tools.code.index.parsing.file_facts import MAX_BYTES, detect_language
from tools.code.languages import Language

GRAIN = 20_000_000
"""Nanoseconds in which a file can change twice without a new time stamp: kernels count in ticks of up to 10 ms.

A file changed within this time before it was read is read again: git calls such an entry racily clean.
"""


class Stamp(NamedTuple):
    """Size in bytes, and modification times of content and entry (ns since 1970)."""

    size: int
    mtime: int
    ctime: int

    def is_settled(self, read: int) -> bool:
        """Return whether the file was unchanged long enough when read that an equal stamp means equal content."""
        return max(self.mtime, self.ctime) < read - GRAIN


ALONE = 20_000
"""Files up to which one thread walks the folders: several wait for each other, and take twice the CPU time.
"""


class Listing:
    """A running listing of every file of a workspace that git does not ignore; other work can be done meanwhile.

    known: number of files last time
    hidden: options for ripgrep that exclude more files
    """

    def __init__(self, root: Path, known: int, hidden: Sequence[str] = ()) -> None:
        from tools.fs.ripgrep import ListingProcess  # imports what workers do not need

        threads = ("--threads=1",) if 0 < known <= ALONE else ()
        self._process = ListingProcess(root, (*threads, *hidden))

    def collect_names(self) -> list[str]:
        """Return paths relative to the root, sorted. Call exactly once: it ends the process.

        ripgrep's exit status is ignored: 1 is an empty folder, 2 an unreadable one. Raises UserError where a pipe or
        a device holds it up.
        """
        names = self._process.collect_output().decode("utf-8", "surrogateescape").split("\n")
        return sorted(name.removeprefix("./") for name in names if name)


def filter_indexed(paths: Iterable[str]) -> Iterator[tuple[str, Language]]:
    """Yield paths in an indexed language."""
    for path in paths:
        name = path[path.rfind("/") + 1 :]
        dot = name.rfind(".")
        language = _detect_language_by_ending(name[dot:] if dot > 0 else name)
        if language is not None:
            yield path, language


@lru_cache(maxsize=4096)
def _detect_language_by_ending(ending: str) -> Language | None:
    return detect_language(f"x{ending}" if ending.startswith(".") else ending)


def read_stamp(root: str, path: str) -> Stamp | None:
    """Return None if there is no regular file, or one too large to read."""
    try:
        there = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):  # deleted since it was listed
        return None
    if not stat.S_ISREG(there.st_mode) or there.st_size > MAX_BYTES:
        return None
    return Stamp(there.st_size, there.st_mtime_ns, there.st_ctime_ns)


def read_content(root: str, path: str) -> bytes | None:
    """Return the file's bytes; None if it cannot be read, is no longer a regular file, or is too large."""
    try:
        descriptor = os.open(f"{root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _is_below(root, descriptor):
            return None
        data = file.read(MAX_BYTES + 1)
    return data if len(data) <= MAX_BYTES else None


def _is_below(root: str, descriptor: int) -> bool:
    """Return whether an open file is in a folder: one on the way may have become a link since it was listed."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{_resolve(root)}/")  # noqa: PTH115 (of thousands)
    except OSError:  # no /proc: macOS
        return True


_resolve = lru_cache(maxsize=16)(os.path.realpath)


def compute_text_key(language: Language, data: bytes) -> str:
    """Return the key of a text in the index: its language and git object id."""
    import hashlib

    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return f"{language.name}:{digest.hexdigest()}"
