"""Files that a session changed: their versions before, and changes by others in between."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sandbox.snapshots.workspace_snapshots import State


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEdit:
    """A change of a file by others; None for no file. Contents stay in the snapshot store.

    read: returns the bytes of a state (a link's text), None if they are gone
    """

    before: State | None
    after: State | None
    read: Callable[[State], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Whether a file differed from its original. state: of the file on disk, and what is recorded of the original"""

    state: tuple[int, ...]
    original: bytes | None
    differs: bool


@dataclass(slots=True, kw_only=True)
class SessionChanges:
    """The files that tools changed, with what commits, undo and checks need to know of each.

    Iterates over their paths, in order of first change.

    originals: file → content before the session's first change of it (a link's text), None if there was none
    original_modes: st_mode of those files then, as far as recorded (a link's own mode, if the link was changed)
    lost: those of them whose previous content is unknown (too large to keep): `originals` says None
    foreign_edits: changes of those files by others between later steps, the oldest first
    undone: files whose changes were undone → their original content and mode
    action_writes: writes of the running action by path (None: removed); None where they are not known exactly
    compared: the last comparison of files with their original
    """

    originals: dict[str, bytes | None] = field(default_factory=dict)
    original_modes: dict[str, int] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    foreign_edits: dict[str, list[ForeignEdit]] = field(default_factory=dict)
    undone: dict[str, tuple[bytes | None, int | None]] = field(default_factory=dict)
    action_writes: dict[str, bytes | None] | None = None
    compared: dict[str, Comparison] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.originals

    def __iter__(self) -> Iterator[str]:
        return iter(self.originals)

    def __len__(self) -> int:
        return len(self.originals)

    @property
    def has_record(self) -> bool:
        """Whether anything is recorded, undone and lost files included."""
        return bool(self.originals or self.undone or self.lost)

    def has_ever_changed(self, path: str) -> bool:
        """Return whether the session changed the file, also if the change was undone."""
        return path in self.originals or path in self.undone

    def remember_content(self, root: Path, path: str, content: bytes | None) -> None:
        """Record a file's content (a link's text) before a tool first changes it in this session; None if new."""
        if path in self.originals:
            return
        self.foreign_edits.pop(path, None)
        self.originals[path] = content
        if content is not None:
            self.original_modes[path] = (root / path).lstat().st_mode

    def remember_state(self, path: str, state: State | None, content: bytes | None) -> None:
        """Record a file's state from the snapshot before a command first changed it in this session."""
        if path in self.originals:
            return
        self.foreign_edits.pop(path, None)
        self.originals[path] = content
        if state is not None:
            self.original_modes[path] = state.mode
            if stat.S_ISREG(state.mode) and not state.is_kept:
                self.lost.add(path)

    def remember_lost(self, path: str) -> None:
        """Record a file that the session changed and whose previous content is unknown."""
        if path not in self.originals:
            self.remember_state(path, None, None)
            self.lost.add(path)

    def forget(self, path: str) -> None:
        """Drop the record of a file: it was committed, or not changed after all."""
        self.compared.pop(path, None)
        self.originals.pop(path, None)
        self.original_modes.pop(path, None)

    def mark_undone(self, path: str) -> None:
        """Mark a file as restored to its original state: later changes are not the session's work."""
        self.undone[path] = self.originals.pop(path), self.original_modes.pop(path, None)

    def mark_redone(self, path: str) -> None:
        """Mark an undone change as redone: it is the session's work again."""
        if path in self.undone and path not in self.originals:
            self.originals[path], mode = self.undone.pop(path)
            if mode is not None:
                self.original_modes[path] = mode
