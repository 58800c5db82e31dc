"""Three-way merge: of a value that two sides may have changed, and of a text's lines.

Undo and commits both merge versions of files with it: undo reverts a change below later ones, a commit separates the
session's changes from foreign ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, GitTimeout

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
    with tempfile.TemporaryDirectory(prefix="patchwright-merge-") as folder:
        names = [str(Path(folder, name)) for name in ("ours", "base", "theirs")]
        for name, content in zip(names, (ours, base, theirs), strict=True):
            Path(name).write_bytes(content)
        environment = {"LC_ALL": "C", **NO_USER_SETTINGS, "GIT_CEILING_DIRECTORIES": folder}
        try:
            done = GitRunner(Path(folder), environment, workspace=None).run(
                "merge-file", "-p", "-q", "--", *names, timeout=TIMEOUT
            )
        except GitTimeout:
            raise MergeConflict("it takes long") from None
    if done.returncode != 0:
        raise MergeConflict("the same lines")
    return done.stdout
