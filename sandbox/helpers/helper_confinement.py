"""Confine a program of ours (git, ripgrep, a worker) that reads untrusted files: it reads, writes and starts only
the listed paths, opens no socket but a server's own, and its memory is limited.

Landlock and seccomp, applied by a thread that starts the program and ends; half a millisecond. Where the kernel
lacks Landlock, the program starts unconfined.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from subprocess import Popen

from sandbox.backends.landlock_ruleset import (
    EXECUTE,
    NEEDED_ABI,
    OF_DEVICES,
    READ,
    WRITE,
    build_ruleset,
    query_abi_version,
)
from sandbox.lazy_dataclass import dataclass

MEMORY = 2 << 30
"""Bytes of private memory of a helper: git and ripgrep need tens of megabytes, a file of zeros takes all there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Absolute paths that a helper may use, links resolved; missing ones are ignored.

    readable: files and folders; writable: these, too
    denied: what it may not read inside them
    programs: programs that it consists of: the first is the one that is started
    memory: bytes of private memory
    port: on which it answers, if it is a server; 0 for a helper that opens no socket
    """

    programs: tuple[str, ...]
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    memory: int = MEMORY
    port: int = 0


def start_confined(reach: Reach, start: Callable[[], Popen[bytes]]) -> Popen[bytes]:
    """Start a helper, confined where the kernel can. Raises UserError if the confinement fails.

    start: starts it; called in a confined thread, so it imports and opens nothing
    """
    version = find_confinement()
    if not version:
        return start()
    from sandbox.backends.seccomp import build_call_filter
    from sandbox.backends.thread_confinement import Confinement

    rules, rights = _build_rules(reach)
    attributes = build_ruleset(version, network=False, rights=rights)
    started: list[Popen[bytes]] = []
    failed: list[BaseException] = []
    calls = build_call_filter("server" if reach.port else "none", shared_ipc=True)
    with Confinement(attributes, rules, calls, reach.port) as confinement:

        def run_confined() -> None:
            try:
                confinement.confine_thread()
                started.append(start())
            except BaseException as error:  # raised again by the caller's thread
                failed.append(error)

        thread = threading.Thread(target=run_confined, name="confined helper", daemon=True)
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    _limit_memory(started[0].pid, reach.memory)
    return started[0]


@cache
def find_confinement() -> int:
    """Return the version of Landlock that confines helpers here, 0 if none does."""
    version = query_abi_version()
    return version if version >= NEEDED_ABI else 0


def _limit_memory(pid: int, memory: int) -> None:
    """Limit a program that has just been started: it cannot allocate gigabytes before."""
    import resource

    with suppress(OSError, ValueError):  # it has ended, or our own limit is lower
        resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def _build_rules(reach: Reach) -> tuple[list[tuple[int, str]], int]:
    """Return the rules, and the rights that need one. A program that is a script may read and start what it likes,
    keys excepted: what its interpreter needs is unknown."""
    programs = [_resolve_program(each) for each in reach.programs]
    loaders = [find_loader(each) for each in programs]
    denied = reach.denied
    readable = [
        *list_system_files(),
        *_list_program_files(programs[0]),
        *list_library_folders(),
        *reach.readable,
    ]
    if not loaders[0]:
        from sandbox.secrets.child_environment import list_secret_paths

        readable, denied = ["/"], (*denied, *map(str, list_secret_paths(())))
    rules = [(READ, each) for each in _subtract_denied(readable, denied)]
    rules += [(READ | WRITE, each) for each in _subtract_denied(reach.writable, reach.denied)]
    rules += [(READ | EXECUTE, each) for each in dict.fromkeys((*programs, *loaders)) if each]
    rules += [(OF_DEVICES, os.devnull), (READ, "/dev/urandom")]
    return rules, READ | WRITE | (EXECUTE if loaders[0] else 0)


def _subtract_denied(places: Iterable[str], denied: Sequence[str]) -> Iterator[str]:
    unique = dict.fromkeys(places)
    if not denied:
        yield from unique
        return
    from sandbox.backends.landlock import subtract_holes

    for place in unique:
        yield from subtract_holes(place, denied)


@lru_cache(maxsize=64)
def find_loader(program: str) -> str:
    """Return the dynamic loader of a 64-bit ELF program, links resolved; itself if it needs none; "" if it is
    something else."""
    try:
        with open(program, "rb") as file:  # noqa: PTH123
            head = file.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                return ""
            (offset,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(size * count)
            for at in range(0, size * count, size):
                kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
                if kind == _PT_INTERP:
                    file.seek(start)
                    return os.path.realpath(file.read(min(length, 4096)).rstrip(b"\0").decode())
    except (OSError, struct.error, UnicodeDecodeError):  # not readable, or damaged
        return ""
    return program


_PT_INTERP = 3


@cache
def list_system_files() -> tuple[str, ...]:
    """Return the files by which C libraries find libraries, users, the time zone and the language."""
    return tuple(os.path.realpath(each) for each in _SYSTEM_FILES if Path(each).exists())


_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"),
    *("/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo", "/usr/share/locale", "/usr/lib/locale"),
    *("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/libexec", "/nix/store", "/gnu/store"),
    *("/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu", "/sys/fs/cgroup"),
)


def list_library_folders() -> list[str]:
    """Return the folders in which the user's environment has the loader look for libraries."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return [os.path.realpath(each) for each in named if each.startswith(os.sep)]


@lru_cache(maxsize=64)
def _list_program_files(program: str) -> tuple[str, ...]:
    """Return a program, and the folders of its installation that hold libraries and data."""
    real = os.path.realpath(program)
    prefix = os.path.dirname(os.path.dirname(real))  # noqa: PTH120 (before each start)
    found = [
        real,
        *(f"{prefix}/{part}" for part in ("lib", "lib64", "libexec", "share/git-core", "share/locale")),
    ]
    return tuple(filter(os.path.exists, found)) if prefix != "/" else (real,)


_resolve_program = lru_cache(maxsize=64)(os.path.realpath)
"""Programs are outside every workspace, or in our own installation: no command changes the way to them."""
