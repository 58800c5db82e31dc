"""Hunks of a diff without context: lines removed and added, file by file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_HUNK = compile_lazily(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(slots=True, kw_only=True)
class Hunk:
    """Adjacent changed lines.

    path: as in the diff, "/dev/null" of a deleted file; line: new number of the first added line
    """

    path: str
    line: int
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def parse_file_hunks(diff: str) -> Iterator[list[Hunk]]:
    """Parse the hunks of each file of a diff made with `--unified=0`, in its order; none for a binary file.

    The lengths in the hunk header delimit a hunk: a line of a file may look like a diff header.
    """
    hunks: list[Hunk] | None = None
    hunk: Hunk | None = None
    path = ""
    old = new = 0
    for line in diff.split("\n"):
        if hunk is not None and (old or new) and line[:1] in ("-", "+"):
            if line[0] == "-":
                hunk.removed.append(line[1:])
                old -= 1
            else:
                hunk.added.append(line[1:])
                new -= 1
        elif hunks is not None and (match := _HUNK.match(line)):
            old, new = int(match[1] or "1"), int(match[3] or "1")
            hunk = Hunk(path=path, line=int(match[2]))
            hunks.append(hunk)
        elif line.startswith("+++ "):
            path = line[4:].rstrip("\t").removeprefix("b/")
        elif line.startswith("diff --git "):
            if hunks is not None:
                yield hunks
            hunks, hunk = [], None
    if hunks is not None:
        yield hunks


def diff_texts(path: str, before: str, after: str) -> list[Hunk]:
    """Diff two texts into hunks without context."""
    old, new = before.splitlines(), after.splitlines()
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        Hunk(path=path, line=c + 1, removed=old[a:b], added=new[c:d])
        for kind, a, b, c, d in changes
        if kind != "equal"
    ]
