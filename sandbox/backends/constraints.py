"""Constraints that every sandbox backend enforces: one writable workspace, and paths closed inside and outside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sandbox.backends.audit import Audit, NoAudit, start_audit
from sandbox.backends.mount_view import resolve_existing
from sandbox.fs.protected_paths import ProtectedPaths, find_nested_git_dirs, find_protected_paths
from sandbox.process.command import Command
from sandbox.secrets.child_environment import list_secret_paths


class Constraints:
    """Bounds of a workspace's commands, independent of the backend.

    root: the workspace, the one place commands may write
    spill: folder for the full text of long outputs, and for entries written at forbidden places
    hidden: folders of Patchwright's that commands may not see
    denied: files and folders that they may not read, in addition to each command's own
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
        """Return the guarded paths of the workspace, as of now."""
        if self._nested is None:
            self._nested = find_nested_git_dirs(self.root)
        return find_protected_paths(self.root, self._nested)

    def collect_secret_paths(self) -> list[Path]:
        """Return the existing files and folders that no command may read, links resolved."""
        return list_secret_paths(self._hidden)

    def list_denied_paths(self, command: Command) -> list[Path]:
        """Return the paths closed to this command by the user's rules or its own."""
        return resolve_existing((*self._denied, *command.denied))

    def list_unreadable_paths(self, command: Command) -> list[Path]:
        """Return all paths that this command may not read."""
        return [*self.collect_secret_paths(), *self.list_denied_paths(command)]

    def audit_command(self, command: Command, places: ProtectedPaths) -> Audit | NoAudit:
        """Start an audit of the guarded paths. places: from `scan_protected_paths`, before the command"""
        return start_audit(command, self.root, places, self.spill)
