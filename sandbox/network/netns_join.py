"""Start a sandbox in the network namespace of a running one, so that its commands reach the servers there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.process.exec_shim import build_exec_prefix


@contextmanager
def open_network_namespace(leader: int) -> Iterator[int]:
    """Yield a descriptor of the network namespace inside a bubblewrap, -1 if that has ended or has none of its own.

    leader: the process id of that bubblewrap
    """
    descriptor = -1
    child = find_first_child(leader)
    if child:
        try:
            descriptor = os.open(f"/proc/{child}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it ended just now
            descriptor = -1
    try:
        # Its number may be another process's by now: the machine's own network must not be shared.
        own = Path("/proc/self/ns/net")
        apart = descriptor >= 0 and not os.path.samestat(os.fstat(descriptor), own.stat())
        yield descriptor if apart else -1
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def find_first_child(leader: int) -> int:
    """Return the process inside, 0 if there is none (yet)."""
    try:
        return int(Path(f"/proc/{leader}/task/{leader}/children").read_text().split()[0])
    except (OSError, IndexError):
        return 0


def build_join_prefix(descriptor: int) -> tuple[str, ...]:
    """Return a prefix for bubblewrap's argv. An ordinary user has rights over a namespace only as a member
    of the user namespace that owns it (ioctl_ns(2)): it is entered first, and bubblewrap makes its own
    inside that."""
    return build_exec_prefix(_JOIN, str(descriptor))


_JOIN = """
import ctypes, fcntl
net = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid():
    libc.setns(fcntl.ioctl(net, 0xB701), 0x10000000)
if libc.setns(net, 0x40000000):
    sys.exit("the network of the running command could not be joined: " + os.strerror(ctypes.get_errno()))
os.close(net)
"""
