"""What may come next in a repository, by its history: open marks in files that change, and files that break often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git

_COMMITS, _RECENT_FILES, _MOST_BYTES = 200, 100, 400_000
"""Commits that are looked at, and files of them that are searched for marks."""

_MOST_MARKS, _MOST_BROKEN, _LEAST_REPAIRS = 5, 3, 3

_MARK = compile_lazily(r"(?:#|//|/\*|--|;|<!--)\s*((?:TODO|FIXME|XXX)\b[^\n]{0,100})")

_REPAIR = compile_lazily(r"\b(?:fix(?:e[sd])?|bug|revert|regression|hotfix)\b", re.IGNORECASE)

_TIMEOUT = 20.0


def list_next_tasks(root: Path) -> list[str]:
    """Return a line for each; none without a history that can be read in time."""
    try:
        log = Git(root, alone=True).run_text(
            "log",
            f"--max-count={_COMMITS}",
            "--no-merges",
            "--no-renames",
            "--name-only",
            "--format=%x00%s",
            timeout=_TIMEOUT,
        )
    except (OSError, UserError):
        return []
    recent: dict[str, None] = {}
    repairs: Counter[str] = Counter()
    for entry in log.split("\0")[1:]:
        subject, _, names = entry.partition("\n")
        files = [each for each in names.split("\n") if each]
        recent.update(dict.fromkeys(files))
        if _REPAIR.search(subject):
            repairs.update(files)
    return [*_list_marks(root, list(recent)[:_RECENT_FILES]), *_list_broken(root, repairs)]


def _list_marks(root: Path, files: list[str]) -> list[str]:
    found: list[str] = []
    for path in files:
        text = read_workspace_text(root, path, _MOST_BYTES)
        for match in _MARK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: {match[1].strip()}")
            if len(found) == _MOST_MARKS:
                return found
    return found


def _list_broken(root: Path, repairs: Counter[str]) -> Iterator[str]:
    there = ((path, count) for path, count in repairs.most_common(10) if (root / path).is_file())
    for path, count in list(there)[:_MOST_BROKEN]:
        if count >= _LEAST_REPAIRS:
            yield f"{path}: mended {count} times in the last {_COMMITS} commits"
