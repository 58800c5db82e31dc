"""Unified diffs, git's extensions included, as files, hunks and numbered lines."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a hunk. old, new: its number on each side, 0 if it is not there; sign "\\": a note of git"""

    sign: Literal["+", "-", " ", "\\"]
    text: str
    old: int = 0
    new: int = 0


@dataclass(slots=True, kw_only=True)
class Hunk:
    """Changed lines with their context. header: as written; section: what git names after it"""

    header: str
    section: str
    lines: list[DiffLine] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class FileDiff:
    """Changes of one file. notes: what changed beside its lines (name, mode, binary content)"""

    old: str = ""
    new: str = ""
    notes: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Path after the change, or before it if the file was deleted."""
        return self.new or self.old


def count_diff_lines(diff: str) -> tuple[int, int]:
    """Return the number of lines added and removed."""
    signs = [line.sign for file in parse_diff(diff) for hunk in file.hunks for line in hunk.lines]
    return signs.count("+"), signs.count("-")


def parse_diff(diff: str) -> list[FileDiff]:
    """Return the files of a unified diff. A hunk ends by its lengths: a removed line may look like a header."""
    files: list[FileDiff] = []
    lines = deque(diff.split("\n"))
    while lines:
        line = lines.popleft()
        if match := _HUNK.match(line):
            if not files:
                files.append(FileDiff())
            files[-1].hunks.append(_read_hunk(match, lines))
        elif match := _GIT.match(line):
            files.append(FileDiff(old=match[1], new=match[2]))
        elif line.startswith(("diff --cc ", "diff --combined ")):
            name = line.split(" ", 2)[2]
            files.append(FileDiff(old=name, new=name, notes=["a merge: git diff shows it"]))
        elif line.startswith("--- "):
            if not files or files[-1].hunks or not _is_headless(files[-1]):
                files.append(FileDiff())
            files[-1].old = _read_name(line, "a/")
        elif line.startswith("+++ ") and files:
            files[-1].new = _read_name(line, "b/")
        elif line.startswith("\\") and files and files[-1].hunks:
            files[-1].hunks[-1].lines.append(DiffLine("\\", _NO_NEWLINE))
        elif files:
            _read_note(line, files[-1])
    return files


def _is_headless(file: FileDiff) -> bool:
    """Return whether the lines `---` and `+++` of a file that git has named are still to come."""
    return bool(file.old or file.new) or bool(file.notes)


def _read_hunk(match: re.Match[str], lines: deque[str]) -> Hunk:
    hunk = Hunk(header=match[0].rstrip(), section=match[5].strip())
    old, new = int(match[1]), int(match[3])
    old_end, new_end = old + int(match[2] or 1), new + int(match[4] or 1)
    while lines and (old < old_end or new < new_end):
        sign, text = lines[0][:1], lines[0][1:]
        if sign and sign not in " +-\\\r":  # the header promised more lines than there are
            break
        lines.popleft()
        if sign == "+":
            hunk.lines.append(DiffLine("+", text, 0, new))
            new += 1
        elif sign == "-":
            hunk.lines.append(DiffLine("-", text, old, 0))
            old += 1
        elif sign == "\\":
            hunk.lines.append(DiffLine("\\", _NO_NEWLINE))
        else:
            hunk.lines.append(DiffLine(" ", "\r" if sign == "\r" else text, old, new))
            old, new = old + 1, new + 1
    return hunk


_NO_NEWLINE = "no newline at end of file"


def _read_name(line: str, prefix: str) -> str:
    """Return the path of a `---` or `+++` line; "" for a file that does not exist."""
    name = line[4:].split("\t")[0].rstrip("\r")
    return "" if name == "/dev/null" else name.removeprefix(prefix)


def _read_note(line: str, file: FileDiff) -> None:
    """Note what a line between the name of a file and its hunks says."""
    if match := _MODES.match(line):
        if match[1] == "old":
            file.notes.append(f"mode {match[2]}")
        elif match[1] == "new":
            mode = file.notes.pop() if file.notes else "mode ?"
            file.notes.append(f"{mode} → {match[2]}")
        elif match[1] == "new file":
            file.notes.append("new file" if match[2] == "100644" else f"new file, mode {match[2]}")
        else:
            file.notes.append("deleted")
    elif match := _MOVES.match(line):
        name = f"{'renamed' if match[1] == 'rename' else 'copied'} from {match[2]}"
        file.notes.append(name)
    elif line.startswith(("Binary files ", "GIT binary patch")):
        file.notes.append("binary")


_HUNK = compile_lazily(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_GIT = compile_lazily(r'diff --git "?a/(.*?)"? "?b/(.*?)"?$')
_MODES = compile_lazily(r"(old|new|new file|deleted file) mode (\d+)")
_MOVES = compile_lazily(r"(rename|copy) from (.*)")
