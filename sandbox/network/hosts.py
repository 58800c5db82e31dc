"""Hosts that commands may reach: the user's rules, the target of a request, and which addresses are public."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

WEB_PORTS = (443, 80)
"""Ports of an entry that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRule:
    """One entry of the list of hosts.

    name: in lower case; of `*.npmjs.org` the part after `*.`
    below: matches the names below it, at any depth, not the name itself
    """

    name: str
    below: bool
    ports: tuple[int, ...]

    def matches(self, target: Target) -> bool:
        """Return whether the rule allows the target."""
        same = target.host.endswith(f".{self.name}") if self.below else target.host == self.name
        return same and target.port in self.ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A host by name, in lower case and without a trailing dot, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_host_rules(entries: Iterable[str]) -> tuple[HostRule, ...]:
    """Parse the list of hosts of the settings. Raises UserError that quotes the first wrong entry."""
    return tuple(_parse_host_rule(each) for each in entries)


def parse_target(authority: str, default_port: int | None = None) -> Target | None:
    """Parse `host:port`; None unless the host is a name: an address in any spelling never is."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else default_port
    host = found["host"].lower()
    if port is None or not 1 <= port <= _LAST_PORT or not _is_host_name(host):
        return None
    return Target(host=host, port=port)


def is_listed(host: str, rules: Iterable[HostRule], exact: Iterable[str] = ()) -> bool:
    """Return whether a host, with a port where it is not the usual one, is among the rules or the exact names."""
    target = parse_target(host, WEB_PORTS[0])
    return host in exact or (target is not None and any(each.matches(target) for each in rules))


def is_public(address: str) -> bool:
    """Return whether an address is on the public Internet, not of this machine, its networks or its cloud."""
    from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:  # with a zone (fe80::1%eth0), or no address at all
        return False
    if isinstance(parsed, IPv6Address):
        if parsed in ip_network(_NAT64):
            return is_public(str(IPv4Address(int(parsed) & 0xFFFFFFFF)))
        if parsed not in ip_network(_GLOBAL_UNICAST):
            return False
    elsewhere = any(parsed in ip_network(each) for each in _ELSEWHERE)
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved and not elsewhere


_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
_AUTHORITY = compile_lazily(rf"(?P<host>{_NAME})\.?(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
_ENTRY = compile_lazily(rf"(?P<below>\*\.)?(?P<host>{_NAME})(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
_LAST_PORT = 65535
_LONGEST_NAME = 253  # RFC 1035

_NUMBER = compile_lazily(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""A last label like this makes the C library read the name as an address: 127.1, 0x7f.1, 2130706433, 0177.0.0.1."""

_GLOBAL_UNICAST = "2000::/3"
"""Everything else in IPv6 is local, mapped (::ffff:127.0.0.1), link-local, unique local (fd00:ec2::254) or
unassigned."""

_NAT64 = "64:ff9b::/96"
"""NAT64, by which an IPv6-only network reaches IPv4: the last 32 bits are the IPv4 address."""

_ELSEWHERE = ("2002::/16", "2001::/23", "192.88.99.0/24", "168.63.129.16/32", "100.100.100.200/32")
"""6to4, Teredo and other tunnels embed an IPv4 address that could be private; two clouds serve metadata at
addresses outside the private ranges."""


def _is_host_name(host: str) -> bool:
    return len(host) <= _LONGEST_NAME and not _NUMBER.fullmatch(host.rsplit(".", 1)[-1])


def _parse_host_rule(entry: str) -> HostRule:
    found = _ENTRY.fullmatch(entry)
    if found is None or not _is_host_name(found["host"].lower()):
        raise _build_entry_error(entry, "not the name of a host")
    if "." not in found["host"]:
        raise _build_entry_error(entry, "only names with a dot can be public")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 1 <= port <= _LAST_PORT:
        raise _build_entry_error(entry, "no such port")
    ports = WEB_PORTS if port is None else (port,)
    return HostRule(name=found["host"].lower(), below=bool(found["below"]), ports=ports)


def _build_entry_error(entry: str, reason: str) -> UserError:
    hint = 'Write hosts like "pypi.org", "*.npmjs.org:443"; names beyond ASCII in their xn-- form.'
    return UserError(Fault.CONFIGURATION, f"setting 'network': {entry!r}: {reason}", hint)
