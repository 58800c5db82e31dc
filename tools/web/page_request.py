"""One HTTP request of our own, bounded in size and time: it connects to the very address that was judged."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from urllib.parse import SplitResult, urljoin, urlsplit

from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass
from sandbox.network.hosts import is_public
from sandbox.network.tls_context import create_tls_context

MOST_BYTES = 10_000_000
"""Bytes of an answer: longer ones are cut."""

TIMEOUT = 30.0
"""Seconds for a request with its redirects."""

MOST_REDIRECTS = 5

_CONNECT_SECONDS = 10.0
_TRIED = 4
"""Addresses tried per name."""

_CHUNK = 64 << 10
_PORTS = {"https": 443, "http": 80}

Resolve = Callable[[str, int], Sequence[str]]
"""Map a name and a port to addresses."""


class RequestFailed(Exception):
    """A request without an answer; its text says why, in a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """An answer. moved_to: address on another host that it leads to, "" if it has the page itself

    is_cut: whether it is longer than the limit
    """

    status: int
    address: str
    content_type: str
    content: bytes
    moved_to: str = ""
    is_cut: bool = False


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return all addresses that this machine's resolver knows for a name. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def parse_address(address: str) -> SplitResult:
    """Return the parts of a web address. Raises RequestFailed for anything else."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError as error:
        raise RequestFailed(f"{address!r:.200} is no address: {error}") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise RequestFailed(f"{address!r:.200} is no address that begins with https:// or http://")
    if parts.username is not None or not address.isprintable() or " " in address.strip() or port == 0:
        raise RequestFailed(f"{address!r:.200} holds a password, or characters that no address has")
    return parts


def name_host(parts: SplitResult) -> str:
    """Return the host of an address, with its port where that is not the usual one: as rules name it."""
    host = (parts.hostname or "").rstrip(".")
    return host if parts.port in (None, _PORTS[parts.scheme]) else f"{host}:{parts.port}"


@dataclass(slots=True, kw_only=True)
class PageRequest:
    """A request, with redirects on its own host.

    may_be_private: whether its host may lead to an address of this machine or its networks
    body: sent by POST; None for GET
    resolve: the resolver
    """

    address: str
    may_be_private: bool
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    resolve: Resolve = resolve_host
    _socket: socket.socket | None = None
    _is_ended: bool = False

    async def send(self) -> PageAnswer:
        """Return the answer. Raises RequestFailed."""
        try:
            async with asyncio.timeout(TIMEOUT):
                return await asyncio.to_thread(self._follow)
        except TimeoutError:
            raise RequestFailed(f"no answer within {TIMEOUT:g} s") from None
        finally:  # a thread that still waits sees its connection closed
            self._is_ended = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _follow(self) -> PageAnswer:
        address = self.address
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._send_once(address)
            if not answer.moved_to:
                return answer
            here, there = parse_address(address), parse_address(answer.moved_to)
            is_same = (here.hostname, name_host(here)) == (there.hostname, name_host(there))
            is_weaker = here.scheme == "https" and there.scheme == "http"
            if not is_same or is_weaker or self.body is not None:
                return answer
            address = answer.moved_to
        raise RequestFailed(f"more than {MOST_REDIRECTS} redirects")

    def _send_once(self, address: str) -> PageAnswer:
        parts = parse_address(address)
        connection = self._connect(parts)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request(
                "GET" if self.body is None else "POST",
                path,
                body=self.body,
                headers={
                    "User-Agent": f"patchwright/{VERSION}",
                    "Accept": "text/markdown, text/html, application/json, text/*, application/pdf, */*;q=0.1",
                    "Accept-Encoding": "gzip",
                    "Connection": "close",
                    **self.headers,
                },
            )
            answer = connection.getresponse()
            target = answer.getheader("Location")
            moved = target is not None and answer.status in (301, 302, 303, 307, 308)
            content, is_cut = (b"", False) if moved else _read_bounded(answer)
            return PageAnswer(
                status=answer.status,
                address=address,
                content_type=answer.getheader("Content-Type") or "",
                content=content,
                moved_to=urljoin(address, target or "") if moved else "",
                is_cut=is_cut,
            )
        except (OSError, http.client.HTTPException, ValueError, zlib.error) as error:
            raise RequestFailed(f"{name_host(parts)}: {type(error).__name__}: {error}") from None
        finally:
            connection.close()

    def _connect(self, parts: SplitResult) -> http.client.HTTPConnection:
        """Connect to an address that was judged: a second answer of the name server changes nothing."""
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        try:
            found = self.resolve(host, port)
        except (OSError, UnicodeError):
            raise RequestFailed(f"{host}: the name could not be resolved") from None
        private = [each for each in found if not is_public(each)]
        if private and not self.may_be_private:
            raise RequestFailed(
                f"{host} leads to {private[0]}, which is no public address: only a rule of the user's that names "
                f"exactly this host, network({name_host(parts)}), allows it"
            )
        made = self._dial(found, port)
        try:
            if parts.scheme == "http":
                plain = http.client.HTTPConnection(host, port)
                plain.sock = made
                return plain
            context = create_tls_context()
            secure = http.client.HTTPSConnection(host, port, context=context)
            secure.sock = self._socket = context.wrap_socket(made, server_hostname=host)
            return secure
        except ssl.SSLCertVerificationError as error:
            made.close()
            raise RequestFailed(f"{host}: its certificate is not trusted: {error.verify_message}") from None
        except OSError as error:
            made.close()
            raise RequestFailed(f"{host}: no connection: {error}") from None

    def _dial(self, addresses: Sequence[str], port: int) -> socket.socket:
        reason = "it has no address"
        for address in addresses[:_TRIED]:
            if self._is_ended:
                break
            try:
                made = socket.create_connection((address, port), timeout=_CONNECT_SECONDS)
            except OSError as error:
                reason = error.strerror or str(error)
                continue
            made.settimeout(TIMEOUT)
            self._socket = made
            return made
        raise RequestFailed(f"no connection: {reason}")


def _read_bounded(answer: http.client.HTTPResponse) -> tuple[bytes, bool]:
    """Return at most MOST_BYTES of a body, unpacked, and whether there is more."""
    unpack = (
        zlib.decompressobj(16 + zlib.MAX_WBITS) if answer.getheader("Content-Encoding") == "gzip" else None
    )
    found = bytearray()
    while len(found) <= MOST_BYTES and (data := answer.read(_CHUNK)):
        found += data if unpack is None else unpack.decompress(data, MOST_BYTES + 1 - len(found))
    return bytes(found[:MOST_BYTES]), len(found) > MOST_BYTES
