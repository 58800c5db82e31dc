"""MCP servers that a client gives to a session: started in the sandbox and asked about like those of the settings.

Their values are literal: a `$NAME` in them is no reference to a variable of ours, which the client could not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from sandbox.lazy_dataclass import dataclass
from sandbox.process.command_line import CommandLine
from sandbox.sanitize import quote_name

if TYPE_CHECKING:
    from tools.mcp.server_place import ServerPlace

ClientServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientServers:
    """Servers of a client by name. notices: one line for each that is not used"""

    servers: Mapping[str, ServerPlace] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def read_client_servers(given: Sequence[ClientServer], names: Collection[str]) -> ClientServers:
    """Return the servers that a client gave. names: of the servers in the settings, which keep them"""
    found: dict[str, ServerPlace] = {}
    notices: list[str] = []
    for each in given:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", each.name)[:LONGEST_NAME].strip("-") or "server"
        try:
            if name in names:
                raise ValueError("the settings have one of this name")
            if name in found:
                raise ValueError("another one has this name")
            found[name] = _read_server(each)
        except ValueError as error:
            notices.append(f"MCP server {quote_name(each.name[:LONGEST_NAME])} is not used: {error}")
    return ClientServers(servers=found, notices=tuple(notices))


def _read_server(server: ClientServer) -> ServerPlace:
    """Return the place of a client's server. Raises ValueError for one that is not supported."""
    from tools.mcp.server_place import HttpPlace, make_given_place

    if isinstance(server, McpServerStdio):
        variables = {each.name: each.value for each in server.env}
        return make_given_place(CommandLine(argv=(server.command, *server.args), environment=variables))
    if not isinstance(server, HttpMcpServer):
        raise ValueError("only commands and streamable HTTP are supported")
    return make_given_place(
        HttpPlace(url=server.url, headers={each.name: each.value for each in server.headers})
    )
