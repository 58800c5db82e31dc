"""Apply Landlock, seccomp and reduced capabilities to a thread of ours; its children cannot lift them."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Sequence
from functools import cache
from types import TracebackType

from sandbox.backends.landlock_ruleset import BIND
from sandbox.errors import Fault, UserError

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture (but alpha)
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 22, 24, 38  # linux/prctl.h
_SECCOMP_MODE_FILTER = 2

_OPENAT2, _AT_FDCWD = 437, -100
_PATH_ONLY = (os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC) if sys.platform == "linux" else 0
_WITHOUT_LINKS = struct.pack("=3Q", _PATH_ONLY, 0, 0x04)
"""struct open_how with RESOLVE_NO_SYMLINKS. Older than Landlock, so it is there."""

KEPT_CAPABILITIES = (1 << 0) | (1 << 1) | (1 << 3)
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER: root needs them in a workspace that belongs to another user."""
_CAPABILITIES = 64  # more than there are: dropping one that does not exist fails and does nothing


class Confinement:
    """A Landlock ruleset, open while used as a context, and everything `confine_thread` needs prepared beforehand.

    attributes: struct landlock_ruleset_attr
    rules: rights and the paths that have them; missing paths are left out
    instructions: the seccomp filter, empty for none
    port: on which a server may listen, where the ruleset bounds that; 0 for none
    """

    def __init__(
        self, attributes: bytes, rules: Sequence[tuple[int, str]], instructions: bytes, port: int = 0
    ) -> None:
        self._libc = _load_libc()
        self._ruleset = self._require_success(
            self._libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset"
        )
        self._program = _Program(len(instructions) // 8, instructions)
        handled = int.from_bytes(attributes[:8], sys.byteorder)
        try:
            for rights, place in rules:
                self._add_path_rule(rights & handled, place)
            if port and any(attributes[8:16]):
                self._add_port_rule(port)
        except BaseException:  # the ruleset is useless; the error propagates
            os.close(self._ruleset)
            raise

    def __enter__(self) -> Confinement:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._ruleset)

    def confine_thread(self) -> None:
        """Confine the calling thread permanently. Raises UserError; then nothing may be started from it."""
        libc = self._libc
        if os.geteuid() == 0:
            self._drop_capabilities()
        self._require_success(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        self._require_success(libc.syscall(_RESTRICT_SELF, self._ruleset, 0), "landlock_restrict_self")
        if self._program.length:
            program = ctypes.byref(self._program)
            self._require_success(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")

    def _add_path_rule(self, rights: int, path: str) -> None:
        place = self._libc.syscall(
            _OPENAT2, _AT_FDCWD, os.fsencode(path), _WITHOUT_LINKS, len(_WITHOUT_LINKS)
        )
        if place < 0:  # missing, not visible to us, or behind a link: nothing to allow
            return
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILES
            rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
            added = self._libc.syscall(_ADD_RULE, self._ruleset, _RULE_PATH_BENEATH, rule, 0)
            self._require_success(added, f"landlock_add_rule {path!r}")
        finally:
            os.close(place)

    def _add_port_rule(self, port: int) -> None:
        rule = struct.pack("=QQ", BIND, port)
        added = self._libc.syscall(_ADD_RULE, self._ruleset, _RULE_NET_PORT, rule, 0)
        self._require_success(added, f"landlock_add_rule for port {port}")

    def _drop_capabilities(self) -> None:
        """Drop capabilities of this thread only: these calls change one thread, unlike those for user ids."""
        for number in range(_CAPABILITIES):
            if not KEPT_CAPABILITIES >> number & 1:
                self._libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        kept = KEPT_CAPABILITIES
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
        sets = (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)  # effective, permitted, inheritable; high halves
        self._require_success(self._libc.capset(header, sets), "capset")

    def _require_success(self, result: int, what: str) -> int:
        """Return a call's result. Raises UserError on failure: nothing runs without confinement."""
        if result < 0:
            reason = os.strerror(ctypes.get_errno())
            hint = "Set `sandbox` to unconfined to work without confinement."
            raise UserError(Fault.CONFIGURATION, f"the sandbox could not be set up: {what}: {reason}", hint)
        return result


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


_CAPABILITY_VERSION = 0x20080522  # linux/capability.h: _LINUX_CAPABILITY_VERSION_3

_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""Rights that a rule about a single file may give: execute, write, read, truncate, device control."""


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))
