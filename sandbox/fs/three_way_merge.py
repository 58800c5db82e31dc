"""Three-way merge: of a value that two sides may have changed, and of a text's lines.

Undo and commits both merge versions of files with it: undo reverts a change below later ones, a commit separates the
session's changes from foreign ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitOutput, GitRunner, GitTimeout

Value = TypeVar("Value")

TIMEOUT = 30.0
"""Seconds for the merge of one file: files that are kept have 10 MB at most."""


class MergeConflict(Exception):
    """Both sides changed the same part, in different ways."""


def merge_values(base: Value, ours: Value, theirs: Value, resolve: Callable[[], Value]) -> Value:
    """Return the side that changed the base; where both did, differently, return or raise what `resolve` does."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else resolve()


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Return the merge of three texts, as `git merge-file` does it.

    Raises MergeConflict if both sides changed the same lines, one is binary, or it takes long.
    """
    if any(b"\0" in content for content in (base, ours, theirs)):
        raise MergeConflict("binary")
    done = _run_merge_file(base, ours, theirs)
    if done is None:
        raise MergeConflict("it takes long")
    if done.returncode != 0:
        raise MergeConflict("the same lines")
    return done.stdout


def mark_conflicts(base: bytes, ours: bytes, theirs: bytes, names: tuple[str, str]) -> bytes | None:
    """Return the merge of three texts with conflict markers; None if one is binary, or it takes long.

    names: of both sides, beside the markers
    """
    if any(b"\0" in content for content in (base, ours, theirs)):
        return None
    options = [word for name in (names[0], "before", names[1]) for word in ("-L", name)]
    done = _run_merge_file(base, ours, theirs, "--diff3", *options)
    return done.stdout if done is not None and 0 <= done.returncode < _FAILED else None


_FAILED = 128
"""Exit code of git's from which on it is an error, not a number of conflicts."""


def _run_merge_file(base: bytes, ours: bytes, theirs: bytes, *options: str) -> GitOutput | None:
    """Run `git merge-file`; None if it takes too long."""
    with tempfile.TemporaryDirectory(prefix="patchwright-merge-") as folder:
        names = [str(Path(folder, name)) for name in ("ours", "base", "theirs")]
        for name, content in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(content)
        environment = {"LC_ALL": "C", **NO_USER_SETTINGS, "GIT_CEILING_DIRECTORIES": folder}
        try:
            return GitRunner(Path(folder), environment, workspace=None).run(
                "merge-file", "-p", "-q", *options, "--", *names, timeout=TIMEOUT
            )
        except GitTimeout:
            return None
