"""Requests to a service's REST API: JSON over HTTPS, the token in a header, no redirects."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import field
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from patchwright.version import VERSION
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from sandbox.secrets.child_environment import redact

PATIENCE = 30.0
"""Seconds for one answer."""

LARGEST = 32 << 20
"""Bytes of an answer: a page of a hundred long comments is far smaller."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: the token is for the address that the user knows."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestClient:
    """Sender of requests to one address. Implements `Client`. headers: with the token; never logged or shown"""

    address: str
    headers: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise UserError(
                Fault.CONFIGURATION,
                f"the API's address {self.address!r} is not encrypted",
                "Name one that begins with https:// in the setting `hosting`.",
            )

    def request(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> Any:
        """See `Client.request`."""
        body = None if fields is None else json.dumps(fields).encode()
        headers = {"Accept": "application/json", "User-Agent": f"patchwright/{VERSION}", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        asked = urllib.request.Request(f"{self.address}{path}", body, headers, method=method)
        try:
            with urllib.request.build_opener(_NoRedirects).open(asked, timeout=PATIENCE) as answer:
                content = answer.read(LARGEST)
        except urllib.error.HTTPError as error:
            with error:
                raise _convert_error(error.code, error.read(4_000), self.address) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise UserError(
                Fault.MODEL_UNREACHABLE, f"{self.address} cannot be reached: {redact(str(reason))}"
            ) from None
        try:
            return parse_json(content) if content.strip() else {}
        except ValueError:
            raise UserError(
                Fault.CONFIGURATION,
                f"{self.address} answered no JSON",
                "Is it the API's address? Name it in the setting `hosting`.",
            ) from None


def _convert_error(status: int, body: bytes, address: str) -> UserError:
    """Return the error of an answer, with the service's own words."""
    try:
        fields = parse_json(body)
        told = fields.get("message") or fields.get("error") or ""
        more = fields.get("errors")
        words = f"{told}: {json.dumps(more)}" if more else str(told)
    except (ValueError, AttributeError):
        words = ""
    message = redact(f"{address} answered {status}" + (f": {words}" if words else ""))[:600]
    if status in (401, 403):
        return UserError(Fault.CREDENTIALS, message, "Check the token, and that it may do this.")
    if status == 404:
        return UserError(
            Fault.USAGE,
            message,
            "Without a token that may see it, a private repository is not found, either.",
        )
    if 300 <= status < 400:
        return UserError(Fault.CONFIGURATION, message, "It has moved: set the remote's new address.")
    return UserError(Fault.USAGE, message, "Is the branch pushed? git push -u origin BRANCH")
