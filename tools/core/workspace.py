"""The workspace as tools access it: the repository's files, a sandbox, the artifact store, and the session's facts."""

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
    """A change of a file by others; None for no file. Contents stay in the snapshot store.

    read: returns the bytes of a state (a link's text), None if they are gone
    """

    before: State | None
    after: State | None
    read: Callable[[State], bytes | None]


@dataclass(slots=True, kw_only=True)
class Workspace:
    """One repository as the tools of one session see it.

    changed: files that tools changed, in order of first change → content before it, None if there was none
    modes: st_mode of those files before the change, as far as recorded (a link's own mode, if the link was changed)
    lost: those of them whose previous content is unknown (too large to keep): `changed` says None
    between: changes of those files by others between later steps, the oldest first
    written: writes of the running action by path (None: removed); None where they are not known exactly
    undone: files whose changes were undone → content and mode before, as in `changed` and `modes`
    read: each file as the model last saw it
    journal: private folder for the journal of multi-file changes until they are complete
    background: commands that keep running until the session ends
    take_back: undoes the changes of the last failed command; None if there are none
    kernel: runs blocks of Python; None where a session has none
    servers: language servers from the user's settings; None where they name none
    past: the session's own history, for `recall`
    progress: called with a line of text during long operations (shown to the user, never logged)
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
        """Transactions that write files of this workspace, atomically."""
        from sandbox.fs.transaction.transactions import Transactions

        return Transactions(self.files, self.journal)

    @property
    def at_work_marker(self) -> Path:
        """File that exists while a writing action runs; dates it after a kill (sandbox.process.watchdog)."""
        return self.artifacts.folder.parent / "at-work"

    def remember_content(self, path: str, content: bytes | None) -> None:
        """Record a file's content (a link's text) before a tool first changes it in this session; None if new."""
        if path in self.changed:
            return
        self.between.pop(path, None)
        self.changed[path] = content
        if content is not None:
            self.modes[path] = (self.root / path).lstat().st_mode

    def mark_undone(self, path: str) -> None:
        """Mark a file as restored to its original state: later changes are not the session's work."""
        self.undone[path] = self.changed.pop(path), self.modes.pop(path, None)

    def mark_redone(self, path: str) -> None:
        """Mark an undone change as redone: it is the session's work again."""
        if path in self.undone and path not in self.changed:
            self.changed[path], mode = self.undone.pop(path)
            if mode is not None:
                self.modes[path] = mode

    def remember_lost(self, path: str) -> None:
        """Record a file that the session changed and whose previous content is unknown."""
        if path not in self.changed:
            self.remember_state(path, None, None)
            self.lost.add(path)

    def remember_state(self, path: str, state: State | None, content: bytes | None) -> None:
        """Record a file's state from the snapshot before a command first changed it in this session."""
        if path in self.changed:
            return
        self.between.pop(path, None)
        self.changed[path] = content
        if state is not None:
            self.modes[path] = state.mode
            if stat.S_ISREG(state.mode) and not state.is_kept:
                self.lost.add(path)
