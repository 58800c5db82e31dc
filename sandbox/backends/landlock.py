"""Run commands under Landlock and seccomp, where namespaces are unavailable (most containers)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sandbox.backends.constraints import Constraints
from sandbox.backends.landlock_ruleset import (
    NEEDED_ABI,
    OF_DEVICES,
    READ,
    WRITE,
    build_ruleset,
    query_abi_version,
)
from sandbox.backends.seccomp import build_call_filter
from sandbox.backends.thread_confinement import Confinement
from sandbox.errors import Fault, UserError
from sandbox.process.command import Command, Completed
from sandbox.process.process_tree import Descendants
from sandbox.process.resource_limits import build_limit_prefix, compute_user_process_limit
from sandbox.process.spawn import Launch, check_folder, find_program, supervise
from sandbox.process.start_gate import open_pipe_gate
from sandbox.secrets.child_environment import build_child_environment
from sandbox.view.machine_view import MachineView, resolve_existing
from sandbox.view.user_git_settings import write_git_settings


class Landlock:
    """A sandbox of access rules that a thread of ours applies to itself before it starts the command.

    Weaker than bubblewrap, in ways that `warning` names. There are no deny rules: in a folder with paths that are
    not readable or writable, the rules list the siblings of those. So a command may do anything in a folder that
    contains no such path, but cannot make, rename or remove direct entries of one that does. On the machine's
    network commands have all kinds of sockets. because: why there is no stronger sandbox
    """

    name = "landlock"

    def __init__(
        self,
        bounds: Constraints,
        *,
        because: str = "",
    ) -> None:
        self.root = bounds.root
        self.warning = _build_warning(because, bounds.network)
        self._bounds = bounds

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        audit = await self._bounds.start_audit(command)
        private = _create_private_folder()
        tree = Descendants(tagged=True)
        try:
            own = {"TMPDIR": str(private), "GOCACHE": str(private / "go-build")}
            own |= write_git_settings(private, self.root)
            env = build_child_environment({**own, **command.env, **tree.environment}, self.root)
            program = find_program(command, env)
            secrets = self._bounds.collect_secret_paths()
            view = self._bounds.get_view(env, secrets)
            self._bounds.check_program(program, command, view)
            gate = private / "gate"
            os.mkfifo(gate, 0o600)
            prefix = build_limit_prefix(
                command.limits, processes=compute_user_process_limit(command.limits), gate=gate
            )
            guards = self._bounds.list_guards(audit.places)
            rules = self._build_rules(command, private, guards, view, secrets)
            filter_ = build_call_filter("machine" if self._bounds.network else "none", shared_ipc=True)
            confining = Confinement(
                build_ruleset(query_abi_version(), network=self._bounds.network),
                rules,
                filter_,
            )
            with confining as confinement, open_pipe_gate(gate) as opened:
                launch = Launch(
                    argv=(*prefix, *command.argv),
                    env=env,
                    cwd=cwd,
                    confine=confinement.confine_thread,
                    pass_fds=command.descriptors,
                    gate=opened,
                )
                done = await supervise(command, launch, tree, spill=self._bounds.spill, on_output=on_output)
            return replace(done, noticed=(*done.noticed, *audit.finish()))
        finally:
            tree.unregister()
            _remove_folder(private)
            audit.finish()  # of an interrupted command, too

    def _build_rules(
        self,
        command: Command,
        private: Path,
        guards: Sequence[Path],
        view: MachineView,
        secrets: Sequence[Path],
    ) -> list[tuple[int, str]]:
        """Return pairs of rights and the path that has them."""
        denied = self._bounds.list_denied_paths(command)
        holes = [str(each) for each in (*secrets, *denied)]
        writable = [str(each) for each in (private, *resolve_existing(command.writable))]
        if command.scope == "workspace":
            writable += subtract_holes(str(self.root), [*map(str, guards), *holes])
        places = (each.path for each in view.places)
        shown = [
            place for each in (*places, self.root, *guards) for place in subtract_holes(str(each), holes)
        ]
        asked = [str(each) for each in resolve_existing(command.readable)]
        readable = ["/proc", *shown, *writable]
        readable += [
            place for each in asked for place in subtract_holes(each, [str(each) for each in denied])
        ]
        found = [(READ, place) for place in dict.fromkeys(readable)]
        found += [(WRITE, place) for place in dict.fromkeys(writable)]
        return found + [(OF_DEVICES, device) for device in _DEVICES]


def _build_warning(because: str, network: bool) -> str:
    lacks = [
        "they cannot make or remove entries at the top of the repository or beside a file they may not read"
    ]
    lacks.append("can change the mode and times of your files, and see other processes")
    lacks.append("reach Unix sockets" if network else "cannot open sockets, not even to themselves")
    reason = f" ({because})" if because else ""
    return f"Commands are confined by Landlock only{reason}: {', '.join(lacks)}."


def explain_unavailability() -> str:
    """Return "" if commands can be confined here, else the reason."""
    offered = query_abi_version()
    if offered >= NEEDED_ABI:
        return ""
    return f"the kernel's Landlock is version {offered}, needed is {NEEDED_ABI}" if offered else "no Landlock"


def subtract_holes(folder: str, holes: Sequence[str]) -> Iterator[str]:
    """Yield the fewest paths that together cover all of `folder` now, less the holes and symbolic links.

    Works on plain strings: this runs for a few hundred paths before each command.
    """
    if folder in holes:
        return
    prefix = folder.rstrip("/") + "/"
    inside = [hole for hole in holes if hole.startswith(prefix)]
    if not inside:
        yield folder
        return
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.is_symlink()]
    except OSError:  # may not be listed: nothing in it can be allowed
        return
    for name in names:
        yield from subtract_holes(prefix + name, inside)


_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")


def _create_private_folder() -> Path:
    """Make a folder for one command in the first folder for temporary files that we may write to. Raises UserError if
    there is none."""
    name = f"patchwright-{os.urandom(8).hex()}"
    places = [Path(each).resolve() for each in dict.fromkeys((os.environ.get("TMPDIR"), *_TEMPORARY)) if each]
    for place in places:
        try:
            (place / name).mkdir(mode=0o700)
        except OSError:  # missing, full, or not ours to write to
            continue
        return place / name
    tried = ", ".join(repr(str(each)) for each in places)
    raise UserError(
        Fault.CONFIGURATION,
        f"there is no folder for temporary files: tried {tried}",
        "Set TMPDIR to a folder that you may write to.",
    )


_TEMPORARY = ("/tmp", "/var/tmp")


def _remove_folder(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # the command removed our access to a folder of its own
        for base, names, _ in os.walk(folder):
            for path in (Path(base, name) for name in names):
                if not path.is_symlink():  # it may lead anywhere
                    path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
