"""How a tool changes a file: remembered before, written once, checked for syntax, described by its diff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandbox.textfile import TextFile, decode
from tools import syntax
from tools.locate import refusals
from tools.text import added_removed, fingerprint, unified
from tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A text file as it is now.

    stale: it is not as the model last saw it
    """

    file: TextFile
    text: str
    fingerprint: str
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file that was changed. notes: lines for the model on what it should know of it."""

    path: str
    diff: str
    added: int
    removed: int
    notes: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        return {"path": self.path, "diff": self.diff}


def load(at: Workspace, tool: str, path: str) -> Loaded:
    """The file's text. Raises ToolFailure for one that is binary."""
    with refusals(tool, path):
        content = at.files.read(path)
        file = decode(content)
    now = fingerprint(content)
    seen = at.read.get(path)
    return Loaded(file=file, text=file.text, fingerprint=now, stale=seen is not None and seen != now)


def apply(at: Workspace, tool: str, path: str, before: Loaded | None, after: str) -> Change:
    """Write `after` in place of what was loaded (None: a new file), in the same encoding and line endings."""
    with refusals(tool, path):
        at.remember_original(path)
        at.files.write_text(path, after, before.file if before else None)
        written = fingerprint(at.files.read(path))
    notes = []
    if before and before.stale:
        notes.append("note: the file had changed on disk since you read it; read it before further edits")
    elif before is None or path in at.read:
        at.read[path] = written  # the model knows what it says now
    problem = syntax.note(path, before.text if before else None, after)
    if problem:
        notes.append(problem)
    diff = unified(path, before.text if before else "", after)
    added, removed = added_removed(diff)
    return Change(path=path, diff=diff, added=added, removed=removed, notes=tuple(notes))
