"""What a tool may lay hands on: the repository's files, a sandbox, the artifact store, and the session's facts."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sandbox.fs.workspace_tree import Tree
from sandbox.policy.decision import Mode
from sandbox.process.command import Sandbox
from tools.core.artifacts import Artifacts
from tools.core.tool_settings import ToolSettings
from tools.shell.background_commands import BackgroundCommands

if TYPE_CHECKING:
    from sandbox.fs.transaction.transactions import Transactions
    from sandbox.snapshots.restore import RestoreResult
    from sandbox.snapshots.workspace_snapshots import State
    from tools.code.lsp.session_servers import Servers
    from tools.core.file_versions import SeenVersion
    from tools.kernel.kernel_protocol import Kernel
    from tools.session.session_history import SessionHistory


@dataclass(slots=True, kw_only=True)
class PlanItem:
    text: str
    status: Literal["open", "doing", "done"] = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEdit:
    """How somebody else changed a file; None for no file. Contents stay in the store of snapshots.

    read: gives the bytes of a state (a link's text), None if they are not there any more
    """

    before: State | None
    after: State | None
    read: Callable[[State], bytes | None]


@dataclass(slots=True, kw_only=True)
class Workspace:
    """One repository as the tools of one session see it.

    changed: files that tools changed, in order of first change; content before it, None if there was none
    modes: st_mode of those files before the change, as far as it was noted (a link's, if the link is meant)
    lost: those of them whose content before was too large to keep: `changed` says None, and nobody knows
    between: what others made of those files between two steps since, the oldest first
    written: what the running action has written, by path (None: removed); None where that is not known exactly
    undone: those whose changes were taken back: content and mode before, as they stood in `changed` and `modes`
    read: each file as the model last saw it
    journal: private folder in which changes of several files are noted until they are whole
    background: commands that stay, until the session ends
    take_back: undoes what the last command that failed has changed; None if there is nothing
    kernel: runs blocks of Python; None where a session has none
    servers: language servers that the user's settings name; None where they name none
    past: the session's own history, for `recall`
    progress: called with a line of text while something long runs (shown to a person, never logged)
    """

    root: Path
    files: Tree
    sandbox: Sandbox
    artifacts: Artifacts
    settings: ToolSettings
    journal: Path
    mode: Mode = Mode.WORKSPACE
    changed: dict[str, bytes | None] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    between: dict[str, list[ForeignEdit]] = field(default_factory=dict)
    written: dict[str, bytes | None] | None = None
    undone: dict[str, tuple[bytes | None, int | None]] = field(default_factory=dict)
    read: dict[str, SeenVersion] = field(default_factory=dict)
    plan: list[PlanItem] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    take_back: Callable[[], RestoreResult] | None = None
    kernel: Kernel | None = None
    servers: Servers | None = None
    past: SessionHistory | None = None
    background: BackgroundCommands = field(default_factory=BackgroundCommands)
    progress: Callable[[str], None] = lambda line: None

    @property
    def transactions(self) -> Transactions:
        """Writes files of this workspace, wholly or not at all."""
        from sandbox.fs.transaction.transactions import Transactions

        return Transactions(self.files, self.journal)

    @property
    def at_work_marker(self) -> Path:
        """File that exists while a writing action runs; dates it after a kill (sandbox.process.watchdog)."""
        return self.artifacts.folder.parent / "at-work"

    def remember_original(self, path: str) -> None:
        """Note a file's content before a tool first changes it in this session."""
        if path not in self.changed:
            self.between.pop(path, None)
            there = self.files.is_file(path)
            self.changed[path] = self.files.read(path) if there else None
            if there:
                self.modes[path] = (self.root / path).stat().st_mode

    def remember_content(self, path: str, content: bytes | None) -> None:
        """The same, with the content (a link's text, if the link is meant) that was read already."""
        if path in self.changed:
            return
        self.between.pop(path, None)
        self.changed[path] = content
        if content is not None:
            self.modes[path] = (self.root / path).lstat().st_mode

    def mark_undone(self, path: str) -> None:
        """The file is again as the session found it: what becomes of it from now on is not the session's work."""
        self.undone[path] = self.changed.pop(path), self.modes.pop(path, None)

    def mark_redone(self, path: str) -> None:
        """What was settled is brought back, and is the session's work again."""
        if path in self.undone and path not in self.changed:
            self.changed[path], mode = self.undone.pop(path)
            if mode is not None:
                self.modes[path] = mode

    def remember_lost(self, path: str) -> None:
        """Note a file that the session changed and of which nobody knows any more what it was before."""
        if path not in self.changed:
            self.remember_state(path, None, None)
            self.lost.add(path)

    def remember_state(self, path: str, state: State | None, content: bytes | None) -> None:
        """Note a file as a snapshot has it from before a command first changed it in this session."""
        if path in self.changed:
            return
        self.between.pop(path, None)
        self.changed[path] = content
        if state is not None:
            self.modes[path] = state.mode
            if stat.S_ISREG(state.mode) and not state.is_kept:
                self.lost.add(path)
