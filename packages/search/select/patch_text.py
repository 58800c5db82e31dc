"""A patch as data: files with their hunks, whatever program wrote its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.diff_hunks import diff_texts

_HUNK = compile_lazily(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchHunk:
    """Changed lines. start, length: of the old lines, context included; first, last: old lines next to a change"""

    start: int
    length: int
    removed: Sequence[str]
    added: Sequence[str]
    first: int
    last: int


@dataclass(slots=True, kw_only=True)
class PatchFile:
    """A file that a patch changes."""

    path: str
    is_new: bool = False
    is_deleted: bool = False
    hunks: list[PatchHunk] = field(default_factory=list)

    @property
    def added(self) -> list[str]:
        """All added lines."""
        return [line for hunk in self.hunks for line in hunk.added]

    @property
    def removed(self) -> list[str]:
        """All removed lines."""
        return [line for hunk in self.hunks for line in hunk.removed]


def parse_patch(text: str) -> list[PatchFile]:
    """Return the files of a unified diff; [] for a text that is none."""
    return list(_iter_files(text.split("\n")))


def _iter_files(lines: Sequence[str]) -> Iterator[PatchFile]:
    file: PatchFile | None = None
    old_path, place = "", 0
    while place < len(lines):
        line = lines[place]
        match = _HUNK.match(line)
        if line.startswith("--- ") and place + 1 < len(lines) and lines[place + 1].startswith("+++ "):
            if file is not None:
                yield file
            old_path, new_path = _read_path(line), _read_path(lines[place + 1])
            file = PatchFile(
                path=old_path if new_path == "/dev/null" else new_path,
                is_new=old_path == "/dev/null",
                is_deleted=new_path == "/dev/null",
            )
            place += 1
        elif match and file is not None:
            hunk, place = _read_hunk(lines, place, match)
            file.hunks.append(hunk)
            continue
        place += 1
    if file is not None:
        yield file


def _read_path(header: str) -> str:
    path = header[4:].split("\t")[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


def _read_hunk(lines: Sequence[str], place: int, match: re.Match[str]) -> tuple[PatchHunk, int]:
    """Return the hunk whose header is at `place`, and the place after it."""
    start = int(match[1])
    old, new = int(match[2] or "1"), int(match[4] or "1")
    length, at = old, start
    removed: list[str] = []
    added: list[str] = []
    touched: list[int] = []
    place += 1
    while place < len(lines) and (old > 0 or new > 0):
        line = lines[place]
        if line.startswith("-"):
            removed.append(line[1:])
            touched.append(at)
            old, at = old - 1, at + 1
        elif line.startswith("+"):
            added.append(line[1:])
            touched.append(at)
            new -= 1
        elif not line.startswith("\\"):  # "\ No newline at end of file"
            old, new, at = old - 1, new - 1, at + 1
        place += 1
    first, last = (min(touched), max(touched)) if touched else (start, start)
    return PatchHunk(start=start, length=length, removed=removed, added=added, first=first, last=last), place


def build_patch_file(path: str, before: bytes | None, after: bytes | None) -> PatchFile:
    """Return the change of a file from its contents, None for no file."""
    old, new = ((each or b"").decode("utf-8", "replace") for each in (before, after))
    file = PatchFile(path=path, is_new=before is None, is_deleted=after is None)
    for hunk in diff_texts(path, old, new):
        first = max(1, hunk.line)
        file.hunks.append(
            PatchHunk(
                start=first,
                length=len(hunk.removed),
                removed=hunk.removed,
                added=hunk.added,
                first=first,
                last=first + max(0, len(hunk.removed) - 1),
            )
        )
    return file
