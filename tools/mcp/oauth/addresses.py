"""Judgement of the addresses of a sign-in: encrypted, and not led from outside into the user's own networks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from sandbox.network.hosts import is_public
from tools.mcp.oauth.sign_in_error import SignInError

_PORTS = {"https": 443, "http": 80}

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the IP addresses that the host of an address leads to, () where its name cannot be resolved."""


def check_address(address: str, role: str) -> SplitResult:
    """Return the parts of an address: https, or http to this machine. Raises SignInError that names its role."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise SignInError(f"{role} is at no address: {address!r:.100}") from None
    if parts.scheme not in _PORTS or not host or port == 0:
        raise SignInError(f"{role} is at no address that begins with https://: {address!r:.100}")
    if not address.isprintable() or " " in address or parts.fragment or parts.username is not None:
        raise SignInError(f"{role} is at an address with a password or odd characters: {address!r:.100}")
    if parts.scheme == "http" and not is_loopback(host):
        raise SignInError(f"{role} is not encrypted: {address!r:.100} begins with http://")
    return parts


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name alone, so that nothing is sent over a network."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def get_origin(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address (RFC 6454)."""
    parts = urlsplit(address)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme, 0)


async def check_reach(server: str, address: str, role: str, resolve: Resolve | None = None) -> Sequence[str]:
    """Refuse an address in the user's own networks that a public server names; return what its name leads to, so that
    a request goes there and a second answer of the name server changes nothing. Raises SignInError.

    A server in these networks, or on this machine, may name others there, and itself anything.
    """
    resolve = resolve or _resolve
    host, home = get_origin(address)[1], get_origin(server)[1]
    found = await resolve(address)
    private = [each for each in found if not is_public(each)]
    if host == home or not private:
        return found
    own = await resolve(server)
    if is_loopback(host) and not is_loopback(home):
        raise SignInError(f"{role} would be this machine: {host}")
    if any(is_public(each) for each in own):
        raise SignInError(f"{role} would be in a private network: {host} leads to {private[0]}")
    return found


async def _resolve(address: str) -> Sequence[str]:
    import socket

    _, host, port = get_origin(address)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return [str(each[4][0]) for each in found]
