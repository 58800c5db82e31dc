"""Outcome of a merge: the changed files, or the conflicts, with every side's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass

ConflictKind = Literal[
    "lines",
    "binary",
    "added",
    "deleted",
    "renamed",
    "mode",
    "type",
    "folder",
    "case",
    "repository",
]
"""Kind of a conflict.

lines: both changed the same lines; binary: both changed a binary file; added: both added it, with other contents;
deleted: one deleted what the other changed; renamed: one moved what the other deleted, moved or put something at its
new place; mode: of a file that both made; type: a file for one and a link for the other; folder: a file for one and a
folder for the other; case: a name that this file system takes for another one; repository: it has git of its own
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A file as one side has it. path: there; content: a link's text; mode: as git has it (0o100755, 0o120000)"""

    path: str
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """A path that has no merge. base, ours (the parent's) and theirs (the child's) are None where there is no file."""

    path: str
    kind: ConflictKind
    reason: str
    base: Side | None = None
    ours: Side | None = None
    theirs: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The child's changes are in the parent's files, all of them.

    paths: files that were written or removed, none where the parent had all changes already
    left_out: ignored files that the child made, which are not merged
    base, theirs: the commits whose difference was merged, so that it can be taken back
    """

    paths: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    base: str = field(default="", compare=False)
    theirs: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Nothing was written. files: every path that has no merge; base, ours, theirs: the commits that were merged"""

    files: Sequence[MergeConflict]
    base: str
    ours: str
    theirs: str

    def describe(self, limit: int = 12_000) -> str:
        """Describe both sides of each conflict for a model, in at most about `limit` characters."""
        share = max(limit // max(len(self.files), 1), 400)
        return "\n\n".join(_describe_conflict(each, share) for each in self.files)


def _describe_conflict(conflict: MergeConflict, limit: int) -> str:
    head = f"{conflict.path}: {conflict.reason}"
    if conflict.kind not in ("lines", "added", "deleted", "type"):
        return head
    sides = (("before", conflict.base), ("parent", conflict.ours), ("child", conflict.theirs))
    parts = [head]
    for name, side in sides:
        if side is not None and b"\0" not in side.content:
            text = side.content.decode("utf-8", "replace")
            cut = "" if len(text) <= limit // 3 else f"\n… {len(text) - limit // 3} characters more"
            parts.append(f"<{name}>\n{text[: limit // 3]}{cut}\n</{name}>")
    return "\n".join(parts)
