"""Network access from a network namespace: a port on its loopback, opened inside and served by our process
outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.process.exec_shim import build_exec_prefix

if TYPE_CHECKING:
    import socket

    from sandbox.network.proxy import Proxy

PORT = 61080
"""In each command's own namespace. Above the range from which the kernel picks ports (to 60999), and no
service's port, so that the command's own servers do not collide with it."""

_ADDRESS = f"http://127.0.0.1:{PORT}"
_OWN = "localhost,127.0.0.1,::1"
_NAMES = {"http_proxy": _ADDRESS, "https_proxy": _ADDRESS, "all_proxy": _ADDRESS, "no_proxy": _OWN}
"""The loopback of the namespace holds only the command's own servers: tests of a server need no proxy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyBridge:
    """Network access of a command; by default none.

    prefix: goes before its argv
    descriptors: to be inherited
    noticed: refusals so far, one sentence each
    """

    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    noticed: list[str] = field(default_factory=list)


def build_proxy_environment() -> Mapping[str, str]:
    """Return the variables by which programs find the proxy."""
    return _NAMES | {name.upper(): value for name, value in _NAMES.items()}


@asynccontextmanager
async def open_proxy_bridge(proxy: Proxy) -> AsyncIterator[ProxyBridge]:
    """Open access through the proxy for one command; closed, with all connections, when the context ends."""
    import asyncio
    import socket

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        made = ProxyBridge(
            prefix=build_exec_prefix(_OPEN, str(theirs.fileno())),
            environment=build_proxy_environment(),
            descriptors=(theirs.fileno(),),
        )
        serving = asyncio.create_task(_serve_bridge(proxy, ours, made.noticed))
        try:
            yield made
        finally:
            serving.cancel()
            await asyncio.wait([serving])


_OPEN = f"""
import _socket as s
l = s.socket(s.AF_INET, s.SOCK_STREAM, 0)
l.bind(("127.0.0.1", {PORT}))
l.listen(128)
c = s.socket(s.AF_UNIX, s.SOCK_STREAM, 0, int(sys.argv[1]))
c.sendmsg([b"."], [(s.SOL_SOCKET, s.SCM_RIGHTS, l.fileno().to_bytes(4, sys.byteorder))])
l.close()
c.close()
"""
"""Runs inside, before the command. A socket stays in the namespace in which it was made: so we can accept
connections here, none of our code runs alongside the command, and no path leads to us."""


async def _serve_bridge(proxy: Proxy, channel: socket.socket, noticed: list[str]) -> None:
    import asyncio

    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(channel, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel)
    listener = _receive_listener(channel)
    if listener is None:
        noticed.append("network: off, because the way out could not be opened")
        return
    with listener:
        await proxy.serve(listener, noticed)


def _receive_listener(channel: socket.socket) -> socket.socket | None:
    """Return the listener. It was sent from inside the sandbox, so anything but a listener is rejected."""
    import os
    import socket

    try:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1, socket.MSG_CMSG_CLOEXEC)
    except OSError:  # the other end is gone
        return None
    if not descriptors:
        return None
    try:
        found = socket.socket(fileno=descriptors[0])
    except OSError:  # not a socket
        os.close(descriptors[0])
        return None
    is_tcp = found.family == socket.AF_INET and found.type == socket.SOCK_STREAM
    if not is_tcp or not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        found.close()
        return None
    return found
