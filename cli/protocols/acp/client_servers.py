"""MCP servers that a client gives to a session: started in the sandbox and asked about like those of the settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from agent.session_settings import SessionSettings
from sandbox.sanitize import quote_name
from tools.mcp.server_settings import McpServerSettings, ServerSetting, check_server

ClientServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSettings:
    """Settings of a session with the client's servers. notices: one line for each that is not used"""

    settings: SessionSettings
    notices: tuple[str, ...] = ()


def add_client_servers(settings: SessionSettings, servers: Sequence[ClientServer]) -> ServedSettings:
    """Add the servers that a client gave; those of the settings keep their names."""
    found: dict[str, ServerSetting] = dict(settings.tools.mcp)
    notices: list[str] = []
    for each in servers:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", each.name)[:LONGEST_NAME].strip("-") or "server"
        try:
            if name in found:
                raise ValueError("the settings have one of this name")
            found[name] = _read_server(each)
        except ValueError as error:
            notices.append(f"MCP server {quote_name(each.name[:LONGEST_NAME])} is not used: {error}")
    if found == settings.tools.mcp:
        return ServedSettings(settings=settings, notices=tuple(notices))
    tools = replace(settings.tools, mcp=found)
    return ServedSettings(settings=replace(settings, tools=tools), notices=tuple(notices))


def _read_server(server: ClientServer) -> ServerSetting:
    """Return a client's server as a setting. Raises ValueError for one that is not supported."""
    if isinstance(server, McpServerStdio):
        variables = [f"{variable.name}={variable.value}" for variable in server.env]
        return shlex.join([*variables, server.command, *server.args])
    if not isinstance(server, HttpMcpServer):
        raise ValueError("only commands and streamable HTTP are supported")
    setting = McpServerSettings(url=server.url, headers={each.name: each.value for each in server.headers})
    check_server(setting)
    return setting
