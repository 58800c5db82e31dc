"""State of one path in a snapshot (`State`), difference of two (`Change`), facts that no tree can hold
(`SnapshotMetadata`)."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass

# git's own mode numbers for the entries of a tree; 0o160000 is a commit of another repository.
GIT_TREE, GIT_FILE, GIT_EXECUTABLE, GIT_LINK, GIT_NESTED = 0o40000, 0o100644, 0o100755, 0o120000, 0o160000


UNBORN = "0" * 40
"""In place of the commit of a nested repository that has none, or one with a longer id than a tree has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One path at one moment.

    mode: file type and permission bits, as in st_mode (GIT_NESTED for a nested repository)
    id: the blob's id; the checked-out commit of a nested repository, or UNBORN; "size@mtime" of a file too
    large to keep; "pipe@", "socket@" and "device@number" of what has no content
    """

    mode: int
    id: str

    @property
    def is_kept(self) -> bool:
        """Whether the content is in the store."""
        return self.mode != GIT_NESTED and "@" not in self.id

    @property
    def is_special(self) -> bool:
        """Whether snapshots know it for undo alone: a pipe, socket or device, or a repository without a commit."""
        if self.mode == GIT_NESTED:
            return self.id == UNBORN
        return "@" in self.id and not stat.S_ISREG(self.mode)

    @property
    def can_be_made(self) -> bool:
        """Whether it can be put back: a socket belongs to a process, a device to the system."""
        return self.is_kept or stat.S_ISFIFO(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Difference of one path between two snapshots; `before` and `after` are None if the path did not exist."""

    path: str
    kind: Literal["added", "modified", "mode", "deleted"]
    before: State | None
    after: State | None

    @staticmethod
    def from_states(path: str, before: State | None, after: State | None) -> Change:
        kind: Literal["added", "modified", "mode", "deleted"]
        if before is None or after is None:
            kind = "added" if before is None else "deleted"
        else:
            kind = "mode" if before.id == after.id else "modified"
        return Change(path=path, kind=kind, before=before, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMetadata:
    """Facts beyond git's tree, so that undo is exact in modes, large files and folders.

    usual: permission bits of most plain and most executable files (follows the user's umask)
    modes: permission bits of the files that differ from that
    large: "size@mtime" and mode of large files, of which only those that our tools write are in the tree
    special: st_mode and "kind@number" of pipes, sockets and devices
    hidden: paths that earlier rules left visible and the present ones do not; undo covers them, commits do not
    empty: folders that hold no file of the snapshot
    folder: permission bits of most folders, 0 if those of folders were not recorded; folders: bits of the
    others
    """

    usual: tuple[int, int] = (0o644, 0o755)
    modes: Mapping[str, int] = field(default_factory=dict)
    large: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    special: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    folder: int = 0
    folders: Mapping[str, int] = field(default_factory=dict)

    def build_state(self, path: str, git_mode: int, object_id: str) -> State:
        """Return the full state of a tree's entry."""
        if git_mode == GIT_LINK:
            return State(mode=stat.S_IFLNK | 0o777, id=object_id)
        if git_mode == GIT_NESTED:
            return State(mode=GIT_NESTED, id=object_id)
        usual = self.usual[git_mode == GIT_EXECUTABLE]
        return State(mode=stat.S_IFREG | self.modes.get(path, usual), id=object_id)

    def encode(self) -> bytes:
        """Encode deterministically: the same facts are always the same bytes."""
        facts: dict[str, object] = {
            "usual": self.usual,
            "modes": dict(sorted(self.modes.items())),
            "large": dict(sorted(self.large.items())),
            "empty": sorted(self.empty),
            "folder": self.folder,
            "folders": dict(sorted(self.folders.items())),
        }
        if self.special:
            facts["special"] = dict(sorted(self.special.items()))
        if self.hidden:
            facts["hidden"] = sorted(self.hidden)
        return json.dumps(facts, separators=(",", ":")).encode()

    @staticmethod
    def decode(content: bytes) -> SnapshotMetadata:
        facts = json.loads(content)
        plain, executable = facts["usual"]
        return SnapshotMetadata(
            usual=(plain, executable),
            modes=facts["modes"],
            large={path: (mode, mark) for path, (mode, mark) in facts["large"].items()},
            special={path: (mode, mark) for path, (mode, mark) in facts.get("special", {}).items()},
            hidden=frozenset(facts.get("hidden", ())),
            empty=frozenset(facts["empty"]),
            folder=facts.get("folder", 0),
            folders=facts.get("folders", {}),
        )


def format_special_mark(mode: int, device: int) -> str:
    """Return the mark in place of the content of a pipe, socket or device. device: st_rdev"""
    if stat.S_ISFIFO(mode):
        return "pipe@"
    return "socket@" if stat.S_ISSOCK(mode) else f"device@{device}"


def to_git_mode(mode: int) -> int:
    """Return the mode that git's tree has for an st_mode."""
    if stat.S_ISLNK(mode):
        return GIT_LINK
    return GIT_EXECUTABLE if mode & stat.S_IXUSR else GIT_FILE
