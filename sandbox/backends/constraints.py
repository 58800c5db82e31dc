"""Constraints that every sandbox backend enforces: one writable workspace, and paths closed inside and outside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.backends.audit import Audit, NoAudit
from sandbox.errors import Fault, UserError
from sandbox.fs.installation import is_inside
from sandbox.fs.protected_paths import ProtectedPaths, find_protected_paths
from sandbox.guards.denied_files import DeniedFiles
from sandbox.guards.hard_links import OutsideLinks
from sandbox.guards.workspace_inventory import MOST_SELF_RUN, open_inventory
from sandbox.process.command import Command
from sandbox.secrets.child_environment import list_homes, list_secret_paths
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
        self.visible = tuple(visible)
        named = root.absolute()
        request = ViewRequest(root=self.root, named=named, visible=self.visible, network=network)
        self._views = ViewCache(request)
        self._sockets = SocketFinder(self.root)
        self._inventory = open_inventory(self.root)
        self._is_size_noted = False
        self._links = OutsideLinks(self._inventory)
        self._denied_files = DeniedFiles(self._inventory)

    async def start_audit(self, command: Command) -> Audit | NoAudit:
        """Prepare an audit, and record the state of the guarded paths."""
        audit = await self.prepare_audit(command)
        audit.record_state()
        return audit

    async def prepare_audit(self, command: Command) -> Audit | NoAudit:
        """Prepare the workspace for a command: find its guarded paths (`places` of the result), and copy hard links to
        files outside. Raises UserError if a link cannot be copied."""
        if self._inventory.is_loaded:
            return self._prepare_audit(command)
        import asyncio

        return await asyncio.to_thread(self._prepare_audit, command)  # the first walk takes a while

    def _prepare_audit(self, command: Command) -> Audit | NoAudit:
        self._inventory.refresh()
        places = find_protected_paths(self.root, self._inventory.list_guarded())
        if command.guarded:
            places = self._add_guarded(command, places)
        places = replace(places, there=tuple(self._drop_closed(command, places.there)))
        notes: tuple[str, ...] = ()
        if command.scope == "workspace":
            places, notes = self._copy_links(command, places)
        if command.resident:
            return NoAudit(places, notes)
        return Audit(self._inventory, places, self.spill and self.spill / "refused", notes)

    def _add_guarded(self, command: Command, places: ProtectedPaths) -> ProtectedPaths:
        """Add the paths that the command itself must not change; they are closed, and need no comparison afterwards."""
        inside = [path for path in resolve_existing(command.guarded) if self.root in path.parents]
        more = tuple(path for path in inside if path not in places.there)
        return replace(places, there=(*places.there, *more), installed=places.installed | set(more))

    def _drop_closed(self, command: Command, guarded: Sequence[Path]) -> Iterable[Path]:
        """Return the guarded paths that are in no folder that is closed: a mount there would show what is closed."""
        closed = set(self.list_denied_paths(command))
        inside = any(self.root in (each, *each.parents) for each in (*list_homes(), *self._hidden))
        if inside or any(self.root not in each.parents for each in guarded):
            closed |= set(self.collect_secret_paths())
        return [each for each in guarded if closed.isdisjoint((each, *each.parents))] if closed else guarded

    def _copy_links(self, command: Command, places: ProtectedPaths) -> tuple[ProtectedPaths, tuple[str, ...]]:
        done = self._links.copy_files((*places.there, *self.list_denied_paths(command)))
        if len(done.failed) > MOST_SELF_RUN:
            path, reason = next(iter(done.failed.items()))
            raise UserError(
                Fault.STORAGE_FULL,
                f"{len(done.failed)} files are hard links to files outside the workspace, and cannot be copied: "
                f"{str(path)!r}: {reason}",
                "A command would change the files outside. Replace the links by copies, or use --mode read-only.",
            )
        notes = []
        if done.copied:
            number = "1 hard link to a file" if done.copied == 1 else f"{done.copied} hard links to files"
            verb = "was replaced by a copy" if done.copied == 1 else "were replaced by copies"
            notes.append(f"{number} outside the workspace {verb}")
        if done.failed:
            notes.append(f"{len(done.failed)} hard links to files outside could not be copied: read-only")
            places = replace(places, there=(*places.there, *done.failed))
        if not self._inventory.is_complete and not self._is_size_noted:
            self._is_size_noted = True
            notes.append("the workspace is too large: not all of it was searched for hard links")
        return places, tuple(notes)

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
        """Return the paths closed to this command by the user's rules or its own, under all their names."""
        found = self._denied_files.list_all_names(resolve_existing((*self._denied, *command.denied)))
        if not command.withheld:
            return found
        own = DeniedFiles(self._inventory).list_all_names(resolve_existing(command.withheld))
        return list(dict.fromkeys((*found, *own)))

    def list_unreadable_paths(self, command: Command) -> list[Path]:
        """Return all paths that this command may not read."""
        return [*self.collect_secret_paths(), *self.list_denied_paths(command)]
