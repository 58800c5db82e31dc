"""A person's uncommitted work that a turn has taken back: their lines are gone, those of the last commit are back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.git.fresh_work import list_restored_lines, read_committed_texts


def find_own_work(root: Path, sides: Mapping[str, tuple[str | None, str | None]]) -> list[tuple[str, int]]:
    """Return (path, line) of each uncommitted change of a person that is gone.

    sides: the texts before the session's first change of a file, and now, by path
    """
    changed = {
        path: (before, after) for path, (before, after) in sides.items() if before and after is not None
    }
    if not changed:
        return []
    kept = {line.strip() for _, after in sides.values() if after for line in after.splitlines()}
    found = []
    for path, committed in read_committed_texts(root, changed).items():
        before, after = changed[path]
        if committed == before:
            continue
        lines = ["", *before.splitlines(), ""]
        places = list_restored_lines(before, after, committed)
        found += [(path, line) for line in places if lines[line].strip() not in kept]  # else it was moved
    return found
