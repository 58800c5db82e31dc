"""Parse the head of a request to the proxy, strictly: anything that two parsers could read differently is refused."""

from __future__ import annotations

import re
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.network.hosts import Target, parse_target

Body = Literal["none", "length", "chunked"]


class Refused(Exception):
    """A request that is rejected.

    status: the response's status line, without the version
    told: whether it is reported to the user and the model: an attempt to reach a host, not a protocol error
    """

    def __init__(self, status: str, reason: str, *, told: bool = True) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.told = told


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """method: "CONNECT" asks for a tunnel; any other goes to `target` as `forwarded`, followed by `length`
    bytes or by chunks."""

    method: str
    target: Target
    forwarded: bytes = b""
    body: Body = "none"
    length: int = 0


def parse_request(head: bytes) -> Request:
    """Parse the request that begins with these bytes, up to and with the empty line. Raises Refused."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    found = _FIRST.fullmatch(first)
    if found is None:
        raise _build_malformed_error("no request line of HTTP/1")
    method, aim, version = found.groups()
    fields = [_parse_header(line) for line in lines]
    if method == "CONNECT":
        return Request(method=method, target=_require_target(aim, None, aim))
    url = _URL.fullmatch(aim)
    if url is None:
        raise Refused("400 Bad Request", f"{aim[:_SHOWN]!r}: only http:// addresses and CONNECT are served")
    target = _require_target(url["authority"], _HTTP_PORT, aim)
    _check_host(fields, target)
    body, length = _parse_body_framing(fields, version)
    return Request(
        method=method,
        target=target,
        forwarded=_build_forwarded_head(method, url["path"] or "/", target, fields, body),
        body=body,
        length=length,
    )


_HTTP_PORT = 80
_SHOWN = 100  # characters of untrusted text
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIRST = compile_lazily(rf"({_TOKEN}) ([!-~]+) HTTP/1\.([01])")
_FIELD = compile_lazily(rf"({_TOKEN}):([^\x00-\x08\x0a-\x1f\x7f]*)")
_URL = compile_lazily(r"http://(?P<authority>[^/?#@\\]*)(?P<path>/[^#]*)?", re.IGNORECASE)
_LENGTH = compile_lazily(r"[0-9]{1,18}", re.ASCII)

_NAMES = """
connection proxy-connection keep-alive upgrade te trailer proxy-authorization proxy-authenticate
transfer-encoding content-length host
"""
_BETWEEN_TWO = frozenset(_NAMES.split())
"""Fields for the next hop alone, which is us; the last three are rewritten from the parsed request."""


def _parse_header(line: str) -> tuple[str, str]:
    found = _FIELD.fullmatch(line)
    if found is None:  # folded, with a space before the colon, a lone CR or LF inside
        raise _build_malformed_error(f"a header line that is none: {line[:_SHOWN]!r}")
    return found[1], found[2].strip(" \t")


def _require_target(authority: str, default_port: int | None, shown: str) -> Target:
    target = parse_target(authority, default_port)
    if target is None:
        raise Refused("403 Forbidden", f"{shown[:_SHOWN]!r}: only hosts by name are served, no addresses")
    return target


def _check_host(fields: list[tuple[str, str]], target: Target) -> None:
    """Refuse a Host field that differs from the address: a request hides its destination that way."""
    for host in _get_header_values(fields, "host"):
        if parse_target(host, _HTTP_PORT) != target:
            raise Refused("400 Bad Request", f"{target}: its Host header says {host[:_SHOWN]!r}")


def _parse_body_framing(fields: list[tuple[str, str]], version: str) -> tuple[Body, int]:
    codings, lengths = (
        _get_header_values(fields, "transfer-encoding"),
        _get_header_values(fields, "content-length"),
    )
    if codings and (lengths or version == "0" or [each.lower() for each in codings] != ["chunked"]):
        raise _build_malformed_error("a Transfer-Encoding that leaves the body's end in doubt")
    if codings:
        return "chunked", 0
    if not lengths:
        return "none", 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _build_malformed_error("a Content-Length that leaves the body's end in doubt")
    return "length", int(lengths[0])


def _build_forwarded_head(
    method: str, path: str, target: Target, fields: list[tuple[str, str]], body: Body
) -> bytes:
    named = {
        each.strip().lower()
        for value in _get_header_values(fields, "connection")
        for each in value.split(",")
    }
    host = target.host if target.port == _HTTP_PORT else str(target)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in fields if name.lower() not in _BETWEEN_TWO | named]
    lines += [f"Content-Length: {value}" for value in _get_header_values(fields, "content-length")]
    lines += ["Transfer-Encoding: chunked"] if body == "chunked" else []
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _get_header_values(fields: list[tuple[str, str]], wanted: str) -> list[str]:
    return [value for name, value in fields if name.lower() == wanted]


def _build_malformed_error(reason: str) -> Refused:
    return Refused("400 Bad Request", f"malformed request: {reason}", told=False)
