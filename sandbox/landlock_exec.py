"""Confine this process as a plan says, then become the command: a script of its own, standard library only.

Arguments: number of a descriptor to read the plan from, then the command. The plan (see landlock.py) is a
list of fields, each ended by a NUL byte: ruleset attributes and seccomp filter in hexadecimal, then the
resource limits as "number=value" up to an empty field, then rights and path of each rule in turn.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture (but alpha)
_RULE_PATH_BENEATH = 1
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38  # linux/prctl.h
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9


def main() -> None:
    """Read the plan, apply it, run the command."""
    descriptor = int(sys.argv[1])
    with os.fdopen(descriptor, "rb") as file:
        fields = iter(file.read().split(b"\0")[:-1])
    attributes, seccomp = bytes.fromhex(next(fields).decode()), bytes.fromhex(next(fields).decode())
    for limit in iter(lambda: next(fields), b""):
        which, value = map(int, limit.split(b"="))
        resource.setrlimit(which, (value, value))
    _call(_LIBC.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl")
    _call(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    created = _LIBC.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    ruleset = _call(created, "landlock_create_ruleset")
    for rights in fields:
        _allow(ruleset, int(rights), next(fields))
    _call(_LIBC.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    if seccomp:
        _filter(seccomp)
    os.execvpe(sys.argv[2], sys.argv[2:], os.environ)


def _allow(ruleset: int, rights: int, path: bytes) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # it went away, or was never ours to see: nothing to allow
        return
    rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
    _call(_LIBC.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0), f"landlock_add_rule {path!r}")
    os.close(place)


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter(instructions: bytes) -> None:
    program = _Program(len(instructions) // 8, instructions)
    _call(_LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def _call(result: int, what: str) -> int:
    """Pass a result on; without confinement nothing is run."""
    if result < 0:
        sys.exit(f"sandbox: {what}: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    main()
