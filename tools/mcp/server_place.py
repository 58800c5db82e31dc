"""Where a server is: a program to start, or an address, with its secrets filled in and redacted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.process.command_line import CommandLine, parse_command_line
from sandbox.secrets.known_values import register_secrets
from tools.mcp.server_settings import McpServerSettings, expand_headers

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlace:
    """A server behind an address. auth: signs its requests in, None where the user has not signed in"""

    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    auth: httpx2.Auth | None = None


ServerPlace = CommandLine | HttpPlace

_SECRET_HEADER = re.compile(r"(?i)authorization|cookie|key|token|secret|password")


def find_place(settings: McpServerSettings) -> ServerPlace:
    """Return the place that settings name; its secrets are redacted from now on."""
    if settings.url:
        return make_http_place(settings.url, settings.headers, expand_headers(settings.headers))
    line = parse_command_line(settings.command)
    register_secrets(line.environment)
    return line


def make_http_place(url: str, written: Mapping[str, str], headers: dict[str, str]) -> HttpPlace:
    """Return an address with its headers; those that hold a secret are redacted from now on.

    written: the headers with the names of variables, whose values are taken for secrets
    """
    secrets = [name for name, value in written.items() if "$" in value or _SECRET_HEADER.search(name)]
    register_secrets({f"{name} TOKEN": headers[name].rpartition(" ")[2] for name in secrets})
    return HttpPlace(url=url, headers=headers)
