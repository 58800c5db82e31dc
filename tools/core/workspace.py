"""The workspace as tools access it: the repository's files, a sandbox, the artifact store, and the session's facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sandbox.deferred import defer
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from sandbox.policy.rules import NO_RULES, Rules
from sandbox.policy.trust import Trusts, trust_nothing
from tools.changes.session_changes import SessionChanges
from tools.core.action import Observation
from tools.core.artifacts import Artifacts
from tools.core.tool_folders import ToolFolders
from tools.core.tool_settings import ToolSettings

if TYPE_CHECKING:
    from sandbox.fs.transaction.transactions import Transactions
    from sandbox.process.command import Sandbox
    from sandbox.snapshots.restore import RestoreResult
    from tools.changes.file_versions import SeenVersion
    from tools.code.lsp.session_servers import Servers
    from tools.core.content_guard import ContentGuard
    from tools.kernel.kernel_protocol import Kernel
    from tools.session.session_history import SessionHistory
    from tools.shell.background_commands import BackgroundCommands


AT_WORK = "at-work"
"""File in a session's folder that exists while a writing action runs."""


@dataclass(slots=True, kw_only=True)
class PlanItem:
    text: str
    status: Literal["open", "doing", "done"] = "open"


class ResultCache(Protocol):
    """Results that several sessions share (`tools.core.shared_results`). tools: names of those that have some"""

    @property
    def tools(self) -> Collection[str]: ...

    async def run(self, tool: Any, arguments: Mapping[str, Any], at: Workspace) -> Observation:
        """Return the result of a call: a known one, or a new one."""
        ...


@dataclass(slots=True, kw_only=True)
class Workspace:
    """One repository as the tools of one session see it.

    working_folder: in which the person works, relative to the root: its package is the one that is tested
    changes: files that the session changed
    read_versions: each file as the model last saw it
    journal: private folder for the journal of multi-file changes until they are complete
    background: commands that keep running until the session ends
    revert_failed_command: undoes the changes of the last failed command; None if there are none
    kernel: runs blocks of Python; None where a session has none
    servers: language servers from the user's settings; None where they name none
    history: the session's own, for `recall`
    shared_results: of agents that change nothing; None in other sessions
    content_guard: judges what actions write; None without rules about it
    variables: of the environment of commands in the sandbox, as hooks set them at the start
    progress: called with a line of text during long operations (shown to the user, never logged)
    seconds_left: returns the seconds until the turn is stopped; infinity where nothing limits it
    """

    root: Path
    files: Tree
    sandbox: Sandbox
    artifacts: Artifacts
    settings: ToolSettings = field(default_factory=ToolSettings)
    folders: ToolFolders
    rules: Rules = NO_RULES
    """The user's rules, which the policy applies; searches leave out what they deny reading."""
    trusts: Trusts = trust_nothing
    """The user's consent to programs that the repository would run outside the sandbox."""
    journal: Path
    mode: Mode = Mode.WORKSPACE
    working_folder: str = ""
    changes: SessionChanges = field(default_factory=SessionChanges)
    read_versions: dict[str, SeenVersion] = field(default_factory=dict)
    plan: list[PlanItem] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    revert_failed_command: Callable[[], RestoreResult] | None = None
    kernel: Kernel | None = None
    servers: Servers | None = None
    history: SessionHistory | None = None
    content_guard: ContentGuard | None = None
    shared_results: ResultCache | None = None
    background: BackgroundCommands = field(default_factory=lambda: defer(_create_background_commands))
    variables: dict[str, str] = field(default_factory=dict)
    progress: Callable[[str], None] = lambda line: None
    seconds_left: Callable[[], float] = lambda: math.inf

    @property
    def transactions(self) -> Transactions:
        """Transactions that write files of this workspace, atomically."""
        from sandbox.fs.transaction.transactions import Transactions

        return Transactions(self.files, self.journal)

    @property
    def at_work_marker(self) -> Path:
        """File that exists while a writing action runs; dates it after a kill (sandbox.process.watchdog)."""
        return self.artifacts.folder.parent / AT_WORK

    def remove_leftovers(self) -> None:
        """Remove the output that a killed process of this session left half-written: streams and test reports."""
        import shutil

        self.artifacts.remove_leftovers()
        shutil.rmtree(self.folders.reports, ignore_errors=True)


def _create_background_commands() -> BackgroundCommands:
    from tools.shell.background_commands import BackgroundCommands

    return BackgroundCommands()
