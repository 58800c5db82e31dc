"""A person's uncommitted work that a turn has taken back: their lines are gone, those of the last commit are back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.git.fresh_work import list_restored_lines, read_committed_texts

_ASKED = re.compile(
    r"\b(?:undo|undone|revert\w*|restor\w*|discard\w*|reset|remov\w*|delet\w*|drop\w*|(?:roll|take|put|back|go)(?:ing)?"
    r" (?:\w+ ){0,4}?(?:back|out)|rollback|as (?:it|they|that) (?:was|were)|clean up|zur(?:\u00fc|ue)ck\w*|verwirf"
    r"|annul\w*|r\u00e9tabli\w*|desha[zc]\w*|descart\w*)\b|\u64a4\u9500|\u8fd8\u539f|\u6062\u590d"
    r"|\u5143\u306b\u623b|\A\s*(?:please\s+)?(?:yes|y|ok|okay|go ahead|do it|apply|write)\b[\w ]{0,30}[.!]*\s*\Z",
    re.IGNORECASE,
)
"""Words of a prompt that wants something taken back, or says yes to that; in doubt it is taken at its word."""


def find_own_work(
    root: Path, sides: Mapping[str, tuple[str | None, str | None]], prompts: Sequence[str]
) -> list[tuple[str, int]]:
    """Return (path, line) of each uncommitted change of a person that is gone, unless a prompt asks for that.

    sides: the texts before the session's first change of a file, and now, by path
    """
    changed = {
        path: (before, after) for path, (before, after) in sides.items() if before and after is not None
    }
    if not changed or any(map(_ASKED.search, prompts)):
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
