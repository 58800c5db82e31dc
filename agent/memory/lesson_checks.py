"""Checks of lessons: what has to hold now for a lesson to be shown."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from agent.memory.records import Check, Lesson
from sandbox.errors import UserError
from sandbox.fs.dirfd_walk import OutsideWorkspace
from sandbox.fs.regular_file import UnsafeFileError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.policy.shell import judge_command_line
from sandbox.process.command import Command
from tools.core.workspace import Workspace

_MOST_BYTES = 1 << 20

_TIMEOUT = 5.0
"""Seconds of a check's command: the request waits for it."""

_LOCAL = frozenset(("none", "read", "execute"))


async def holds(lesson: Lesson, at: Workspace) -> bool:
    """Return whether all checks of a lesson hold."""
    for check in lesson.checks:
        if check.kind == "command":
            if not await _ends_well(check.value, at):
                return False
        elif not is_there(check, at.root):
            return False
    return True


def is_there(check: Check, root: Path) -> bool:
    """Return whether a check that only looks holds."""
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


async def _ends_well(line: str, at: Workspace) -> bool:
    """Return whether a command ends with 0, run confined and without writing; one that could do more is not run."""
    judged = judge_command_line(line, root=at.root)
    if judged.problems or at.sandbox.name == "unconfined":
        return False
    if any(each.kind not in _LOCAL or each.outside for each in judged.effects):
        return False
    command = Command(argv=("sh", "-c", line), cwd=at.root, timeout=_TIMEOUT, scope="read-only")
    try:
        done = await at.sandbox.run(command)
    except (UserError, OSError):
        return False
    return done.ended == "exited" and done.returncode == 0
