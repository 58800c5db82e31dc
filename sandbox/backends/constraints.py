"""Constraints that every sandbox backend enforces: one writable workspace, and paths closed inside and outside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sandbox.backends.audit import Audit, NoAudit, start_audit
from sandbox.errors import Fault, UserError
from sandbox.fs.installation import is_inside
from sandbox.fs.protected_paths import ProtectedPaths, find_nested_git_dirs, find_protected_paths
from sandbox.process.command import Command
from sandbox.secrets.child_environment import list_secret_paths
from sandbox.view.git_folders import list_linked_git_folders
from sandbox.view.machine_view import MachineView, ViewCache, ViewRequest, resolve_existing
from sandbox.view.served_sockets import SocketFinder, list_bound_sockets


class Constraints:
    """Bounds of a workspace's commands, independent of the backend.

    root: the workspace, the one place commands may write
    spill: folder for the full text of long outputs, and for entries written at forbidden places
    hidden: folders of Patchwright's that commands may not see
    denied: files and folders that they may not read, in addition to each command's own
    network: leave commands on the machine's network
    visible: files and folders outside the workspace that the user lets commands read
    """

    def __init__(
        self,
        root: Path,
        *,
        spill: Path | None = None,
        hidden: Iterable[Path] = (),
        denied: Iterable[Path] = (),
        network: bool = False,
        visible: Iterable[Path] = (),
    ) -> None:
        self.root = root.resolve()
        self.spill = spill
        self.network = network
        self._hidden = tuple(hidden)
        self._denied = tuple(denied)
        self._nested: tuple[Path, ...] | None = None
        self.visible = tuple(visible)
        named = root.absolute()
        request = ViewRequest(root=self.root, named=named, visible=self.visible, network=network)
        self._views = ViewCache(request)
        self._sockets = SocketFinder(self.root)

    def scan_protected_paths(self) -> ProtectedPaths:
        """Return the guarded paths of the workspace, as of now."""
        if self._nested is None:
            self._nested = find_nested_git_dirs(self.root)
        return find_protected_paths(self.root, self._nested)

    def get_view(self, env: Mapping[str, str], secrets: Sequence[Path]) -> MachineView:
        """Return all that commands with this environment can see outside the workspace, but for secret places."""
        return self._views.get(env, secrets)

    def check_program(self, program: Path, command: Command, view: MachineView) -> None:
        """Raise UserError if a command's program is none of what it can see."""
        real, entry = os.path.realpath(program), f"{os.path.realpath(program.parent)}/{program.name}"
        asked_for = (os.path.realpath(each) for each in (*command.readable, *command.writable))
        shown = [str(self.root), *(str(each.path) for each in view.places), *asked_for]
        if not all(any(is_inside(path, each) for each in shown) for path in (entry, real)):
            hint = "Let commands read its folder: add it to `visible_paths` in your settings."
            message = f"commands cannot see the program {str(program)!r}: it is outside the workspace"
            raise UserError(Fault.CONFIGURATION, message, hint)

    def list_guards(self, places: ProtectedPaths) -> list[Path]:
        """Return the guarded paths that commands may see: those outside only if they belong to the workspace."""
        outside = [each for each in places.there if not each.is_relative_to(self.root)]
        linked = list_linked_git_folders(self.root, outside) if outside else []
        return [each for each in places.there if each in linked or each not in outside]

    def find_served_sockets(self) -> list[str]:
        """Return the paths of sockets on which programs of this machine listen, others than those in the workspace
        only under the name by which they were bound."""
        return self._sockets.find_paths(list_bound_sockets())

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
