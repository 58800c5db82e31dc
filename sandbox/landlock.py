"""Run commands under Landlock and seccomp, where there are no namespaces to be had (most containers)."""

from __future__ import annotations

import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.descendants import Descendants
from sandbox.guarded import guarded_places
from sandbox.process import Command, Completed
from sandbox.secrets import child_environment, secret_places
from sandbox.spawn import Launch, check_folder, find_program, resource_limits, supervise

NEEDED_ABI = 3
"""Linux 6.2. Before it Landlock does not keep a file from being truncated: nothing is safe from `> file`."""


class Landlock:
    """A sandbox of access rules that a process puts on itself before it becomes the command.

    Weaker than bubblewrap, in ways that `warning` names. There are no rules that deny: what may be
    written is a list of the workspace's entries other than `.git`. So a command may do anything below
    them, but can make, rename or remove nothing at the very top of a workspace that is a repository.
    """

    name = "landlock"

    def __init__(
        self,
        root: Path,
        *,
        spill: Path | None = None,
        hidden: Iterable[Path] = (),
        network: bool = False,
        because: str = "",
    ) -> None:
        self.root = root.resolve()
        self.warning = (
            f"Commands are confined by Landlock only{f' ({because})' if because else ''}: they cannot make "
            "or remove entries at the top of the repository, but see processes and reach Unix sockets."
        )
        self._spill = spill
        self._hidden = tuple(hidden)
        self._attributes = _ruleset(abi(), network=network)
        self._seccomp = b"" if network else _no_sockets()

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        cwd = check_folder(command, self.root)
        tree = Descendants()
        private = _private_folder()
        plan = -1
        try:
            own = {"TMPDIR": str(private), "GOCACHE": str(private / "go-build")}
            env = child_environment({**own, **command.env, **tree.environment})
            find_program(command, env)
            plan = self._plan(command, private)
            argv = (sys.executable, "-I", "-S", "-B", str(_SCRIPT), str(plan), *command.argv)
            launch = Launch(argv=argv, env=env, cwd=cwd, pass_fds=(plan,))
            return await supervise(command, launch, tree, spill=self._spill, on_output=on_output)
        finally:
            if plan >= 0:
                os.close(plan)
            _remove(private)

    def _plan(self, command: Command, private: Path) -> int:
        """A descriptor from which landlock_exec.py reads what to do."""
        secrets = secret_places(self._hidden)
        guarded = guarded_places(self.root)
        writable = [private, *(each.resolve() for each in command.writable)]
        if command.scope == "workspace":
            writable += around(self.root, [*guarded, *secrets])
        readable = [*around(Path("/"), secrets), *around(self.root, secrets), *writable]
        readable += [each.resolve() for each in command.readable]

        fields = [self._attributes.hex(), self._seccomp.hex()]
        fields += [f"{which}={value}" for which, value in resource_limits(command.limits).items()]
        fields.append("")
        for rights, places in ((_READ, readable), (_WRITE, writable)):
            for place in dict.fromkeys(places):
                with suppress(OSError):  # it went away
                    fields += [str(rights if place.is_dir() else rights & _OF_FILES), str(place)]
        for device in _DEVICES:
            fields += [str(_WRITE & _OF_FILES), device]
        plan = os.memfd_create("plan")
        with os.fdopen(os.dup(plan), "wb") as file:
            file.write(b"".join(os.fsencode(field) + b"\0" for field in fields))
        os.lseek(plan, 0, os.SEEK_SET)
        return plan


def abi() -> int:
    """The version of Landlock that the kernel offers, 0 if none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    offered = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_QUESTION)
    return max(0, int(offered))


def works() -> str:
    """ "" if commands can be confined here, else why not."""
    offered = abi()
    if offered >= NEEDED_ABI:
        return ""
    return f"the kernel's Landlock is version {offered}, needed is {NEEDED_ABI}" if offered else "no Landlock"


def around(folder: Path, holes: Sequence[Path]) -> list[Path]:
    """The fewest places that together hold all that is in `folder` now, less the holes and symbolic links."""
    if folder in holes:
        return []
    inside = [hole for hole in holes if folder in hole.parents]
    if not inside:
        return [folder]
    return [place for entry in _entries(folder) for place in around(entry, inside)]


def _entries(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from (folder / entry.name for entry in entries if not entry.is_symlink())
    except OSError:  # not ours to list: nothing in it can be allowed
        return


_SCRIPT = Path(__file__).with_name("landlock_exec.py")

_CREATE_RULESET = 444
_VERSION_QUESTION = 1  # LANDLOCK_CREATE_RULESET_VERSION

# linux/landlock.h: LANDLOCK_ACCESS_FS_*
_WRITE_FILE, _READ_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 2, 1 << 4, 1 << 5
_MAKE = 0b1111111 << 6  # device, folder, file, socket, pipe, block device, link
_REFER, _TRUNCATE = 1 << 13, 1 << 14

_READ = _READ_FILE
"""Names may be listed everywhere: without that, `ls /` fails and half of the world's programs with it."""
_WRITE = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | _TRUNCATE
_OF_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE
"""The rights that a rule about a single file may give."""

_TCP = 0b11  # LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP
_TCP_ABI = 4
_SCOPES = 0b11  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, LANDLOCK_SCOPE_SIGNAL
_SCOPES_ABI = 6

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx")


def _ruleset(version: int, *, network: bool) -> bytes:
    """struct landlock_ruleset_attr, as long as the kernel knows it."""
    fields = [_READ | _WRITE]
    if version >= _TCP_ABI:
        fields.append(0 if network else _TCP)
    if version >= _SCOPES_ABI:
        fields.append(_SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)


# (number that names the architecture to seccomp, its number of the system call `socket`)
_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198), "riscv64": (0xC00000F3, 198)}
_IO_URING_SETUP = 425
_X32 = 0x40000000  # calls of x86_64's second numbering start here
_AF_UNIX, _AF_NETLINK = 1, 16


def _no_sockets() -> bytes:
    """A seccomp filter that allows only sockets within the machine; empty for an unknown architecture.

    Landlock alone stops TCP, not UDP, ICMP or whatever comes next. A 32-bit program cannot run under it.
    """
    known = _ARCHITECTURES.get(platform.machine())
    if known is None:
        return b""
    architecture, socket = known
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, |JGE|K, BPF_RET|K
    allow, refuse = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
    number_at, architecture_at, first_argument_at = 0, 4, 16  # struct seccomp_data, low half of the argument
    program = (
        (load, 0, 0, architecture_at),
        (equal, 0, 7, architecture),
        (load, 0, 0, number_at),
        (at_least, 5, 0, _X32),
        (equal, 4, 0, _IO_URING_SETUP),  # it opens sockets too
        (equal, 0, 4, socket),
        (load, 0, 0, first_argument_at),
        (equal, 2, 0, _AF_UNIX),
        (equal, 1, 0, _AF_NETLINK),  # lists the machine's own interfaces; getaddrinfo asks it
        (answer, 0, 0, refuse | errno.EACCES),
        (answer, 0, 0, allow),
    )
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _private_folder() -> Path:
    folder = Path(os.environ.get("TMPDIR") or "/tmp").resolve() / f"patchwright-{os.urandom(8).hex()}"
    folder.mkdir(mode=0o700)
    return folder


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # the command closed a folder of its own to us
        for base, names, _ in os.walk(folder):
            for path in (Path(base, name) for name in names):
                if not path.is_symlink():  # it may lead anywhere
                    path.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
