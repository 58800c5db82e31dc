"""Checks of lessons: what has to hold now for a lesson to be shown."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from agent.memory.records import Check, Lesson
from sandbox.fs.dirfd_walk import OutsideWorkspace
from sandbox.fs.regular_file import UnsafeFileError
from sandbox.fs.untrusted_file import read_workspace_file

_MOST_BYTES = 1 << 20


def holds(lesson: Lesson, root: Path) -> bool:
    """Return whether all checks of a lesson hold. They look at files: nothing is run, whoever the lesson is from."""
    return all(is_there(each, root) for each in lesson.checks)


def is_there(check: Check, root: Path) -> bool:
    """Return whether a check holds."""
    if check.kind == "digest":
        path, _, digest = check.value.rpartition(":")
        return compute_file_digest(root, path) == digest
    path, _, name = check.value.partition(":") if check.kind == "symbol" else (check.value, "", "")
    content = _read(root, path)
    if content is None:
        return check.kind == "file" and _is_folder(root, path)
    return not name or re.search(rf"\b{re.escape(name)}\b", content.decode("utf-8", "replace")) is not None


def compute_file_digest(root: Path, path: str) -> str:
    """Return the SHA-256 of a file of the workspace, "" where there is none that can be read."""
    content = _read(root, path)
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _read(root: Path, path: str) -> bytes | None:
    try:
        return read_workspace_file(root, path, _MOST_BYTES)
    except (UnsafeFileError, OutsideWorkspace):  # outside the workspace, or too large to be looked at
        return None


def _is_folder(root: Path, path: str) -> bool:
    place = root / path
    return root in place.resolve().parents and place.is_dir()
