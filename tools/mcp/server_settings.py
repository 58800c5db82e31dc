"""Settings of one MCP server: the command line that starts it, or the address at which it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.settings_validation import FORBID_UNKNOWN

START_SECONDS = 30.0
"""Time limit until the server has listed its tools: some are first downloaded from a registry."""

CALL_SECONDS = 300.0

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Hosts that a key may be sent to without TLS: nobody else's."""

WORKSPACE = "."
"""The workspace, among the folders that a server may write."""

_HEADER_NAME = compile_lazily(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_REFERENCE = compile_lazily(r"\$([A-Za-z_][A-Za-z0-9_]*)|\$\{[^}]*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """One server. Either `command` or `url` is set.

    `${NAME}` in a text, or `${NAME:-default}`, is that variable when the server starts; without a value it is refused.

    command: line that starts it in the sandbox, variables in front
    url: address of a server that speaks streamable HTTP
    headers: sent with each request to `url`; `$NAME` in a value is that variable, too
    start_timeout: seconds until it has listed its tools
    call_timeout: seconds for one call
    tools: names of the only tools that are used, None for all; without_tools: of those that are not
    writable: folders that a command may write: "." is the workspace; network: hosts that it may reach
    keep: it has a folder of its own that stays between sessions, `${KEEP}`
    """

    __pydantic_config__ = FORBID_UNKNOWN

    command: str = ""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    start_timeout: float = START_SECONDS
    call_timeout: float = CALL_SECONDS
    tools: list[str] | None = None
    without_tools: list[str] = field(default_factory=list)
    writable: list[str] = field(default_factory=list)
    network: list[str] = field(default_factory=list)
    keep: bool = False

    def uses_tool(self, name: str) -> bool:
        """Return whether a tool of the server is used."""
        return (self.tools is None or name in self.tools) and name not in self.without_tools


ServerSetting = str | McpServerSettings
"""An entry of the table `mcp`: a command line, an address, or a table of both kinds' details."""


def normalize_server(setting: ServerSetting) -> McpServerSettings:
    """Return an entry in its long form; a text that begins with http:// or https:// is an address."""
    if not isinstance(setting, str):
        return setting
    if setting.startswith(("http://", "https://")):
        return McpServerSettings(url=setting)
    return McpServerSettings(command=setting)


def check_server(setting: ServerSetting) -> None:
    """Check one entry. Raises ValueError that says what is wrong in a clause."""
    server = normalize_server(setting)
    if bool(server.command) == bool(server.url):
        raise ValueError("give either `command` or `url`")
    if server.start_timeout <= 0 or server.call_timeout <= 0:
        raise ValueError("a time limit is above 0")
    if server.command:
        from sandbox.network.hosts import parse_host_rules
        from sandbox.process.command_line import parse_command_line

        check_writable(server.writable)
        try:
            parse_host_rules(server.network)
        except UserError as error:
            raise ValueError(f"network: {error.message}") from None

        if server.headers:
            raise ValueError("headers are for a `url`; variables of a command are written in front of it")
        parse_command_line(server.command)
        return
    if server.writable or server.network or server.keep:
        raise ValueError("`writable`, `network` and `keep` are for a `command`: no sandbox holds an address")
    if "${" not in server.url:  # else once it is filled in
        check_url(server.url)
    for name, value in server.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise ValueError(f"the header {name!r} has characters that no header has")


def check_writable(names: list[str]) -> None:
    """Check the folders that a server may write. Raises ValueError that says what is wrong in a clause."""
    for name in names:
        path = Path(name).expanduser()
        if name != WORKSPACE and not path.is_absolute():
            raise ValueError(f'writable: {name!r} is neither "." (the workspace) nor an absolute folder')
        if path.is_absolute() and Path.home().resolve().is_relative_to(path.resolve()):
            raise ValueError(f"writable: {name!r} holds your whole home folder")


def check_url(url: str) -> None:
    """Check the address of a server. Raises ValueError that says what is wrong in a clause."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is no address: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"{url!r} is no address that begins with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a password is no part of the address: send it as a header from a variable")
    if not url.isprintable() or " " in url or parts.fragment:
        raise ValueError(f"{url!r} holds characters that no address of a server has")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise ValueError(f"{host} is another machine: its address begins with https://")


def expand_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with their variables filled in. Raises ValueError that names one that is not set."""
    from sandbox.process.command_line import fill_in_variables

    return {
        name: _REFERENCE.sub(
            lambda match: fill_in_variables(f"${{{match[1]}}}" if match[1] else match[0]), value
        )
        for name, value in headers.items()
    }
