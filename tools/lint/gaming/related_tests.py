"""Tests of the workspace that a turn leaves alone: their inputs and expected values are looked up in changed code."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from sandbox.fs.untrusted_file import read_workspace_text
from tools.lint.gaming.file_changes import find_role

MOST_ENTRIES = 4_000
"""Names that are looked at: more takes longer than a look at the end of a turn may."""

MOST_FILES = 12
"""Test files that are read, those named after a changed file first."""

LARGEST = 200_000
"""Bytes of a test file: larger ones are generated."""

_OTHERS = frozenset(
    {"node_modules", "site-packages", "vendor", "build", "dist", "target", "venv", "__pycache__"}
)
"""Folders that hold no tests of the project."""


def read_related_tests(root: Path, changed: Collection[str]) -> dict[str, str]:
    """Return unchanged test files by path, the likeliest for the changed product files; {} if no product changed."""
    stems = {PurePosixPath(path).stem.lower() for path in changed if find_role(path) == "product"}
    if not stems:
        return {}
    found = [path for path in _walk_files(root) if path not in changed and find_role(path) == "test"]
    found.sort(key=lambda path: (not any(stem in PurePosixPath(path).stem.lower() for stem in stems), path))
    texts = {path: read_workspace_text(root, path, LARGEST) for path in found[:MOST_FILES]}
    return {path: text for path, text in texts.items() if text}


def _walk_files(root: Path) -> Iterator[str]:
    left = MOST_ENTRIES
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _OTHERS)
        left -= len(folders) + len(files)
        if left < 0:
            return
        prefix = Path(folder).relative_to(root).as_posix()
        yield from (name if prefix == "." else f"{prefix}/{name}" for name in files)
