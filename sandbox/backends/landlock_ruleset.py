"""Landlock's version, access rights, and ruleset attributes (linux/landlock.h)."""

from __future__ import annotations

import struct
import sys

NEEDED_ABI = 3
"""Linux 6.2. Older versions of Landlock do not prevent truncation: no file is safe from `> file`."""

_CREATE_RULESET = 444  # on every architecture (but alpha)
_VERSION_QUESTION = 1  # LANDLOCK_CREATE_RULESET_VERSION

# LANDLOCK_ACCESS_FS_*
EXECUTE = 1 << 0
_WRITE_FILE, _READ_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 2, 1 << 4, 1 << 5
_MAKE = 0b1111111 << 6  # device, folder, file, socket, pipe, block device, link
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15

READ = _READ_FILE
"""Names may be listed everywhere: without that, `ls /` and half of all programs fail."""
WRITE = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | _TRUNCATE
OF_DEVICES = _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

_IOCTL_ABI = 5
BIND = 0b01  # LANDLOCK_ACCESS_NET_BIND_TCP
_TCP = 0b11  # and LANDLOCK_ACCESS_NET_CONNECT_TCP
_TCP_ABI = 4
_SCOPES = 0b11  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, LANDLOCK_SCOPE_SIGNAL
_SCOPES_ABI = 6


def query_abi_version() -> int:
    """Return the version of Landlock that the kernel offers, 0 if none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    offered = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_QUESTION)
    return max(0, int(offered))


def build_ruleset(version: int, *, network: bool, rights: int = READ | WRITE) -> bytes:
    """Return a struct landlock_ruleset_attr, as long as the kernel knows it. rights: those that rules have to give"""
    fields = [rights | (_IOCTL_DEVICE if version >= _IOCTL_ABI else 0)]
    if version >= _TCP_ABI:
        fields.append(0 if network else _TCP)
    if version >= _SCOPES_ABI:
        fields.append(_SCOPES)
    return struct.pack(f"={len(fields)}Q", *fields)
