"""Where a server is: a program to start, or an address, with its secrets filled in and redacted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command_line import CommandLine, fill_in_command_line, fill_in_variables
from sandbox.secrets.known_values import register_secrets
from tools.mcp.server_settings import McpServerSettings, check_server, check_url, expand_headers

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlace:
    """A server behind an address. auth: signs its requests in, None where the user has not signed in"""

    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    auth: httpx2.Auth | None = None


ServerPlace = CommandLine | HttpPlace

_SECRET_HEADER = compile_lazily(r"(?i)authorization|cookie|key|token|secret|password")
_PLAIN_HEADERS = ("accept", "accept-language", "content-type", "user-agent")


def find_place(settings: McpServerSettings) -> ServerPlace:
    """Return the place that settings name; its secrets are redacted from now on.

    Raises ValueError that says which variable is not set, or why its address is none.
    """
    if settings.url:
        url = fill_in_variables(settings.url)
        check_url(url)
        return make_http_place(url, settings.headers, expand_headers(settings.headers))
    line = fill_in_command_line(settings.command)
    register_secrets(line.environment)
    return line


def make_given_place(place: ServerPlace) -> ServerPlace:
    """Check and return a place that a program gave: its values are literal, and its headers are redacted from now on.

    Raises ValueError that says in a clause why it is not supported.
    """
    if isinstance(place, HttpPlace):
        check_server(McpServerSettings(url=place.url, headers=place.headers))
        _register_headers(each for each in place.headers.items() if each[0].lower() not in _PLAIN_HEADERS)
        return place
    if not place.argv[0]:
        raise ValueError("no command is named")
    if any("\0" in each for each in (*place.argv, *place.environment, *place.environment.values())):
        raise ValueError("its command has a NUL character")
    for name in place.environment:
        if not name or "=" in name:
            raise ValueError(f"it sets a variable called {name!r}")
    register_secrets(place.environment)
    return place


def make_http_place(url: str, written: Mapping[str, str], headers: dict[str, str]) -> HttpPlace:
    """Return an address with its headers; those that hold a secret are redacted from now on.

    written: the headers with the names of variables, whose values are taken for secrets
    """
    _register_headers(
        (name, headers[name])
        for name, value in written.items()
        if "$" in value or _SECRET_HEADER.search(name)
    )
    return HttpPlace(url=url, headers=headers)


def _register_headers(headers: Iterable[tuple[str, str]]) -> None:
    """Redact the words of these headers, and each word's part behind `=`: `session=…; path=/` holds a secret, too."""
    for name, value in headers:
        for word in re.split(r"[\s,;]+", value):
            for part in (word, word.partition("=")[2]):
                register_secrets({f"{name} TOKEN": part.strip('"')})
