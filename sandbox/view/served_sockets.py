"""Unix sockets bound on this machine, found by inode: by the kernel's socket diagnostics, else by /proc/net/unix."""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandbox.lazy_dataclass import dataclass

Inode = tuple[int, int]
"""Inode number, of which the kernel reports 32 bits, and device number of a socket's file; (0, 0) if unknown."""


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A socket with a name in the file system. name: as given to bind(2), relative ones included"""

    name: str
    inode: Inode


def list_bound_sockets() -> list[BoundSocket]:
    """Return the sockets bound to a path by the programs in our network namespace."""
    try:
        return list(_query_kernel())
    except (OSError, AttributeError, struct.error):  # no such query in this kernel or container, or not Linux
        return list(_read_table())


class SocketFinder:
    """Search for the files of bound sockets in a folder, also of those bound by a relative name or renamed.

    folder: the workspace
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._devices: frozenset[int] | None = None
        self._missed: dict[Inode, float] = {}
        self._found: dict[Inode, str] = {}

    def find_paths(self, sockets: Iterable[BoundSocket]) -> list[str]:
        """Return the paths of these sockets: the names that still lead to them, and others in the folder."""
        paths, nameless = [], []
        for each in sockets:
            if each.name.startswith("/") and _leads_to(each.name, each.inode):
                paths.append(each.name)
            elif each.inode[0]:
                nameless.append(each.inode)
        return [*paths, *self._search(nameless)] if nameless else paths

    def _search(self, wanted: list[Inode]) -> list[str]:
        if self._devices is None:
            self._devices = _list_devices(self._folder)
        here = [each for each in wanted if each[1] in self._devices]
        self._found = {
            each: self._found[each]
            for each in here
            if each in self._found and _leads_to(self._found[each], each)
        }
        now = time.monotonic()
        open_ = [
            each
            for each in here
            if each not in self._found and now - self._missed.get(each, -_AGAIN_SECONDS) >= _AGAIN_SECONDS
        ]
        if open_:
            self._found |= _walk_for_sockets(self._folder, set(open_))
            fresh = {each: now for each in open_ if each not in self._found}
            self._missed = {each: at for each, at in self._missed.items() if each in here} | fresh
        return list(self._found.values())


_AGAIN_SECONDS = 30.0
"""A socket that the search did not find is mostly one elsewhere on the same disk."""

_MOST_ENTRIES = 50_000
"""Entries looked at by one search, nearest folders first: 50 ms, when a socket appears whose name explains nothing."""


def _walk_for_sockets(folder: str, wanted: set[Inode]) -> dict[Inode, str]:
    numbers = {number for number, _ in wanted}
    found: dict[Inode, str] = {}
    waiting, seen = [folder], 0
    for current in waiting:  # grows meanwhile
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() & _LOW in numbers:
                        found |= {each: entry.path for each in wanted if _leads_to(entry.path, each)}
        except OSError:  # not readable, or removed meanwhile
            continue
        if seen > _MOST_ENTRIES or len(found) == len(wanted):
            break
    return found


def _leads_to(path: str, inode: Inode) -> bool:
    try:
        status = os.lstat(path)
    except OSError:  # gone, or the path of another mount namespace
        return False
    return stat.S_ISSOCK(status.st_mode) and (not inode[0] or status.st_ino & _LOW == inode[0])


def _list_devices(folder: str) -> frozenset[int]:
    """Return the numbers by which the kernel may name the folder's device. On btrfs, stat(2) has another than
    the table of mounts, which has the one that the query returns."""
    found = {_pack_device(os.stat(folder).st_dev)}  # noqa: PTH116 (a string)
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux
        return frozenset(found)
    mounts = {fields[4]: fields[2] for line in lines if len(fields := line.split(" ", 5)) > _MOUNT_FIELDS}
    at = max(
        (each for each in mounts if f"{folder}/".startswith(f"{each.rstrip('/')}/")), key=len, default=""
    )
    if at:
        major, _, minor = mounts[at].partition(":")
        found.add(int(major) << _MINOR_BITS | int(minor))
    return frozenset(found)


_MOUNT_FIELDS = 5

_LOW = 0xFFFFFFFF

_MINOR_BITS = 20


def _pack_device(device: int) -> int:
    """Return a device number in the kernel's own form."""
    return os.major(device) << _MINOR_BITS | os.minor(device)


_SOCK_DIAG = 4  # linux/netlink.h: NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # linux/sock_diag.h: SOCK_DIAG_BY_FAMILY
_REQUEST, _DUMP = 0x1, 0x300  # linux/netlink.h: NLM_F_REQUEST, NLM_F_DUMP
_ERROR, _DONE = 2, 3  # linux/netlink.h: NLMSG_ERROR, NLMSG_DONE
_SHOW_NAME, _SHOW_VFS = 0x1, 0x2  # linux/unix_diag.h: UDIAG_SHOW_*
_NAME, _VFS = 0, 1  # linux/unix_diag.h: UNIX_DIAG_*
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_QUESTION = struct.Struct("=BBHIIIII")  # struct unix_diag_req
_ANSWER_SIZE = 16  # struct unix_diag_msg
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_PAIR = struct.Struct("=II")  # struct unix_diag_vfs


def _query_kernel() -> Iterator[BoundSocket]:
    """Ask by netlink for the sockets of the Unix family, each with its name, inode and device (sock_diag(7))."""
    question = _QUESTION.pack(socket.AF_UNIX, 0, 0, _LOW, 0, _SHOW_NAME | _SHOW_VFS, _LOW, _LOW)
    header = _HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST | _DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_PATIENCE)
        kernel.send(header + question)
        while True:
            answer = kernel.recv(_BUFFER)
            at = 0
            while at + _HEADER.size <= len(answer):
                length, kind, _, _, _ = _HEADER.unpack_from(answer, at)
                if kind == _DONE:
                    return
                if kind == _ERROR or length < _HEADER.size:
                    raise OSError("the kernel refused a query for sockets")
                yield from _parse_answer(answer[at + _HEADER.size : at + length])
                at += _align(length)


_PATIENCE = 1.0
_BUFFER = 1 << 16


def _parse_answer(answer: bytes) -> Iterator[BoundSocket]:
    name, inode, at = b"", (0, 0), _ANSWER_SIZE
    while at + _ATTRIBUTE.size <= len(answer):
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        value = answer[at + _ATTRIBUTE.size : at + length]
        if kind == _NAME:
            name = value
        elif kind == _VFS:
            inode = _PAIR.unpack_from(value)
        at += _align(max(length, _ATTRIBUTE.size))
    if name and not name.startswith(b"\0"):  # an abstract name is no file
        yield BoundSocket(os.fsdecode(name.rstrip(b"\0")), inode)


def _align(length: int) -> int:
    return (length + 3) & ~3


def _read_table() -> Iterator[BoundSocket]:
    """Read the names from /proc/net/unix, which has no inodes of files."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux, or /proc is not readable
        return
    for line in lines[1:]:
        fields = line.split(None, _PATH_FIELD)
        if len(fields) > _PATH_FIELD and not fields[_PATH_FIELD].startswith("@"):
            yield BoundSocket(fields[_PATH_FIELD], (0, 0))


_PATH_FIELD = 7
"""The field of /proc/net/unix with the path; a socket without a name has none."""
