"""Whether a process that asks for a run is as free, and as bound, as the warm process itself.

A forked run has the rights and limits of the warm process, not of the one that asked. So it is refused wherever the
two differ in what cannot be taken over: a confined process must not get out by asking, and a limit that somebody set
must hold. Everything is read from the kernel (proc_pid_status(5), namespaces(7), cgroups(7)); nothing is believed.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

STATUS_FIELDS = (
    *("Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters"),
    *("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
)
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
GROUP_LIMITS = (
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "pids.max",
    "io.max",
    "cpuset.cpus",
)
GROUPS = Path("/sys/fs/cgroup")

PEER_PIDFD = 77  # asm-generic/socket.h: SO_PEERPIDFD, since Linux 6.5

FIXED_VARIABLES = ("LC_", "LANG", "LD_", "MALLOC_", "GLIBC_")
"""Beginnings of the names of variables that a process heeds at its own start only."""


class OtherProcess(Exception):
    """The caller differs from this process in what a forked run could not take over; str: in what."""


def identify_caller(link: socket.socket) -> int:
    """Return the process at the other end of a Unix socket. Raises OtherProcess for one of another user."""
    process, user, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if user != os.geteuid() or process <= 0:
        raise OtherProcess("another user")
    return int(process)


def check_caller(link: socket.socket, process: int) -> None:
    """Raise OtherProcess if a run that is forked here would have other rights or limits than the caller's."""
    try:
        handle = link.getsockopt(socket.SOL_SOCKET, PEER_PIDFD)
    except OSError:  # an older kernel: of the process that has connected there is its number alone
        handle = os.pidfd_open(process)
    try:
        _compare(process)
        # Still the process that has connected: its number was not given to another one meanwhile.
        if f"\nPid:\t{process}\n" not in Path(f"/proc/self/fdinfo/{handle}").read_text("utf-8"):
            raise OtherProcess("it has ended")
    except OSError as error:
        raise OtherProcess(f"it cannot be looked at: {error.strerror}") from error
    finally:
        os.close(handle)


def _compare(process: int) -> None:
    ours, theirs = _read_status("self"), _read_status(str(process))
    if ours["NoNewPrivs"] != "0":
        raise OtherProcess("no new privileges here: confinement by Landlock could not be told")
    for name in STATUS_FIELDS:
        if ours.get(name) != theirs.get(name):
            raise OtherProcess(name)
    for name in NAMESPACES:
        if _read_link(f"/proc/self/ns/{name}") != _read_link(f"/proc/{process}/ns/{name}"):
            raise OtherProcess(f"namespace {name}")
    if not os.path.samestat(os.stat("/proc/self/root"), os.stat(f"/proc/{process}/root")):  # noqa: PTH116
        raise OtherProcess("root folder")
    if _read_label("self") != _read_label(str(process)):
        raise OtherProcess("security label")
    if os.getpriority(os.PRIO_PROCESS, process) < os.getpriority(os.PRIO_PROCESS, 0):
        raise OtherProcess("priority")
    for number in _iter_limits():
        if _is_wider(resource.prlimit(process, number)[1], resource.getrlimit(number)[1]):
            raise OtherProcess("resource limits")
    _compare_groups(process)


def check_variables(theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Raise OtherProcess if they differ in a variable that only the start of a process heeds."""
    for name in sorted({*theirs, *ours}):
        if name.startswith(FIXED_VARIABLES) and theirs.get(name) != ours.get(name):
            raise OtherProcess(f"variable {name}")


def take_over_limits(process: int) -> None:
    """Give this process, a fork, the caller's limits, priority, processors, mask of files and ignored signals."""
    import signal

    for number in _iter_limits():
        resource.setrlimit(number, resource.prlimit(process, number))
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, process))
    os.sched_setaffinity(0, os.sched_getaffinity(process))
    status = _read_status(str(process))
    os.umask(int(status["Umask"], 8))
    ignored = int(status["SigIgn"], 16)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if ignored & 1 << number - 1:
            signal.signal(number, signal.SIG_IGN)


def _iter_limits() -> Iterator[int]:
    for name in dir(resource):
        if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE":
            yield getattr(resource, name)


def _is_wider(theirs: int, ours: int) -> bool:
    return ours != resource.RLIM_INFINITY and (theirs == resource.RLIM_INFINITY or theirs > ours)


def _read_status(process: str) -> dict[str, str]:
    lines = Path(f"/proc/{process}/status").read_text("utf-8", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except FileNotFoundError:  # a kernel without this kind
        return ""


def _read_label(process: str) -> str:
    with suppress(OSError):  # no security module that labels
        return Path(f"/proc/{process}/attr/current").read_text("utf-8", "replace")
    return ""


def _compare_groups(process: int) -> None:
    """Raise OtherProcess if the caller's control group has a limit that does not hold here."""
    ours, theirs = (Path(f"/proc/{each}/cgroup").read_text("utf-8") for each in ("self", process))
    if ours == theirs:
        return
    groups = [line.removeprefix("0::/") for line in theirs.splitlines() if line.startswith("0::/")]
    if len(groups) != 1 or len(theirs.splitlines()) != 1:
        raise OtherProcess("control groups")
    ours_parts = Path(ours.strip().removeprefix("0::/")).parts
    theirs_parts = Path(groups[0]).parts
    pairs = zip(ours_parts, theirs_parts, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    for depth in range(shared + 1, len(theirs_parts) + 1):
        for name in GROUP_LIMITS:
            with suppress(FileNotFoundError):  # a controller that is not switched on there
                value = GROUPS.joinpath(*theirs_parts[:depth], name).read_text("utf-8").split()
                if value[:1] not in ([], ["max"]):
                    raise OtherProcess(f"limit {name}")
