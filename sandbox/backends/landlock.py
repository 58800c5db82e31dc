"""Run commands under Landlock and seccomp, where namespaces are unavailable (most containers)."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sandbox.backends.constraints import Constraints
from sandbox.backends.seccomp import build_call_filter
from sandbox.backends.thread_confinement import Confinement
from sandbox.process.command import Command, Completed
from sandbox.process.process_tree import Descendants
from sandbox.process.resource_limits import build_limit_prefix, compute_user_process_limit
from sandbox.process.spawn import Launch, check_folder, find_program, supervise
from sandbox.secrets.child_environment import build_child_environment, find_home
from sandbox.view.git_settings import read_git_settings
from sandbox.view.machine_view import MachineView, resolve_existing

NEEDED_ABI = 3
"""Linux 6.2. Older versions of Landlock do not prevent truncation: no file is safe from `> file`."""


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
        private = _create_private_folder()
        tree = Descendants(tagged=True)
        try:
            own = {"TMPDIR": str(private), "GOCACHE": str(private / "go-build")}
            own |= self._write_git_settings(private)
            env = build_child_environment({**own, **command.env, **tree.environment}, self.root)
            program = find_program(command, env)
            secrets = self._bounds.collect_secret_paths()
            view = self._bounds.get_view(env, secrets)
            self._bounds.check_program(program, command, view)
            places = self._bounds.scan_protected_paths()
            audit = self._bounds.audit_command(command, places)
            gate = private / "gate"
            os.mkfifo(gate, 0o600)
            prefix = build_limit_prefix(
                command.limits, processes=compute_user_process_limit(command.limits), gate=gate
            )
            rules = self._build_rules(command, private, self._bounds.list_guards(places), view, secrets)
            filter_ = build_call_filter("machine" if self._bounds.network else "none", shared_ipc=True)
            with Confinement(
                _build_ruleset(query_abi_version(), network=self._bounds.network), rules, filter_
            ) as confinement:
                launch = Launch(
                    argv=(*prefix, *command.argv),
                    env=env,
                    cwd=cwd,
                    confine=confinement.confine_thread,
                    pass_fds=command.descriptors,
                    gate=gate,
                )
                done = await supervise(command, launch, tree, spill=self._bounds.spill, on_output=on_output)
            return replace(done, noticed=(*done.noticed, *audit.finish()))
        finally:
            tree.unregister()
            _remove_folder(private)

    def _write_git_settings(self, private: Path) -> dict[str, str]:
        """Return a variable that makes git read a copy of the user's harmless settings: what may not be read
        is a fatal error for git."""
        if find_home().is_relative_to(self.root):
            return {}
        copy = private / "gitconfig"
        copy.write_text(read_git_settings(), "utf-8", "surrogateescape")
        return {"GIT_CONFIG_GLOBAL": str(copy)}

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
        found = [(_READ, place) for place in dict.fromkeys(readable)]
        found += [(_WRITE, place) for place in dict.fromkeys(writable)]
        return found + [(_OF_DEVICES, device) for device in _DEVICES]


def _build_warning(because: str, network: bool) -> str:
    lacks = [
        "they cannot make or remove entries at the top of the repository or beside a file they may not read"
    ]
    lacks.append("can change the mode and times of your files, and see other processes")
    lacks.append("reach Unix sockets" if network else "cannot open sockets, not even to themselves")
    reason = f" ({because})" if because else ""
    return f"Commands are confined by Landlock only{reason}: {', '.join(lacks)}."


def query_abi_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 if none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    offered = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_QUESTION)
    return max(0, int(offered))


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


_CREATE_RULESET = 444  # on every architecture (but alpha)
_VERSION_QUESTION = 1  # LANDLOCK_CREATE_RULESET_VERSION

# linux/landlock.h: LANDLOCK_ACCESS_FS_*
_WRITE_FILE, _READ_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 2, 1 << 4, 1 << 5
_MAKE = 0b1111111 << 6  # device, folder, file, socket, pipe, block device, link
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15

_READ = _READ_FILE
"""Names may be listed everywhere: without that, `ls /` and half of all programs fail."""
_WRITE = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | _TRUNCATE
_OF_DEVICES = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

_IOCTL_ABI = 5
_TCP = 0b11  # LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP
_TCP_ABI = 4
_SCOPES = 0b11  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, LANDLOCK_SCOPE_SIGNAL
_SCOPES_ABI = 6

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")


def _build_ruleset(version: int, *, network: bool) -> bytes:
    """Return a struct landlock_ruleset_attr, as long as the kernel knows it."""
    fields = [_READ | _WRITE | (_IOCTL_DEVICE if version >= _IOCTL_ABI else 0)]
    if version >= _TCP_ABI:
        fields.append(0 if network else _TCP)
    if version >= _SCOPES_ABI:
        fields.append(_SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)


def _create_private_folder() -> Path:
    folder = Path(os.environ.get("TMPDIR") or "/tmp").resolve() / f"patchwright-{os.urandom(8).hex()}"
    folder.mkdir(mode=0o700)
    return folder


def _remove_folder(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # the command removed our access to a folder of its own
        for base, names, _ in os.walk(folder):
            for path in (Path(base, name) for name in names):
                if not path.is_symlink():  # it may lead anywhere
                    path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
