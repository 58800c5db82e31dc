"""What every way of confining commands has to keep: one workspace, and what stays closed in it and beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sandbox.backends.audit import Audit, NoAudit, start_audit
from sandbox.backends.mount_view import resolve_existing
from sandbox.fs.protected_paths import ProtectedPaths, find_nested_git_dirs, find_protected_paths
from sandbox.process.command import Command
from sandbox.secrets.child_environment import list_secret_paths


class Constraints:
    """The bounds of a workspace's commands, for whichever sandbox keeps them.

    root: the workspace, the one place commands may write
    spill: folder for the whole of long outputs, and for what was written where it may not be
    hidden: folders of ours that commands may not see
    denied: files and folders that they may not read, besides each command's own
    network: leave commands on the machine's network
    """

    def __init__(
        self,
        root: Path,
        *,
        spill: Path | None = None,
        hidden: Iterable[Path] = (),
        denied: Iterable[Path] = (),
        network: bool = False,
    ) -> None:
        self.root = root.resolve()
        self.spill = spill
        self.network = network
        self._hidden = tuple(hidden)
        self._denied = tuple(denied)
        self._nested: tuple[Path, ...] | None = None

    def scan_protected_paths(self) -> ProtectedPaths:
        """The places of the workspace that are under guard, as they are now."""
        if self._nested is None:
            self._nested = find_nested_git_dirs(self.root)
        return find_protected_paths(self.root, self._nested)

    def collect_secret_paths(self) -> list[Path]:
        """Existing files and folders that no command may read, links resolved."""
        return list_secret_paths(self._hidden)

    def list_denied_paths(self, command: Command) -> list[Path]:
        """Those that are closed to this command by the user's rules or its own."""
        return resolve_existing((*self._denied, *command.denied))

    def list_unreadable_paths(self, command: Command) -> list[Path]:
        """All that this command may not read."""
        return [*self.collect_secret_paths(), *self.list_denied_paths(command)]

    def audit_command(self, command: Command, places: ProtectedPaths) -> Audit | NoAudit:
        """What is written under guard while the command runs. places: as `guarded` gave them before it"""
        return start_audit(command, self.root, places, self.spill)
