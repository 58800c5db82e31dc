"""MCP servers that a client gives to a session: started in the sandbox and asked about like those of the settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from agent.session_settings import SessionSettings
from sandbox.sanitize import quote_name
from tools.mcp.server_settings import ServerSetting

ClientServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSettings:
    """Settings of a session with the client's servers. notices: one line for each that is not used"""

    settings: SessionSettings
    notices: tuple[str, ...] = ()


def add_client_servers(settings: SessionSettings, servers: Sequence[ClientServer]) -> ServedSettings:
    """Add the servers that a client gave; those of the settings keep their names."""
    lines: dict[str, ServerSetting] = dict(settings.tools.mcp)
    notices: list[str] = []
    for each in servers:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", each.name)[:LONGEST_NAME].strip("-") or "server"
        shown = quote_name(each.name[:LONGEST_NAME])
        if not isinstance(each, McpServerStdio):
            notices.append(f"MCP server {shown} is not used: only servers with a command are supported")
        elif name in lines:
            notices.append(f"MCP server {shown} is not used: the settings have one of this name")
        else:
            variables = [f"{variable.name}={variable.value}" for variable in each.env]
            lines[name] = shlex.join([*variables, each.command, *each.args])
    if lines == settings.tools.mcp:
        return ServedSettings(settings=settings, notices=tuple(notices))
    tools = replace(settings.tools, mcp=lines)
    return ServedSettings(settings=replace(settings, tools=tools), notices=tuple(notices))
