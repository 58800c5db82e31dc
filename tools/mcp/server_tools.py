"""The MCP servers of a session, and their tools as `Tool` objects."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.surroundings import Surroundings
from tools.core.text import clip
from tools.core.untrusted_output import enclose_in_tag
from tools.core.workspace import Workspace
from tools.mcp.descriptions import ToolDescription
from tools.mcp.questions import Ask, Asker, Fill
from tools.mcp.server_connection import McpServer
from tools.mcp.server_place import ServerPlace, find_place
from tools.mcp.server_rights import fill_in_kept_folder, grant_rights
from tools.mcp.server_settings import McpServerSettings, ServerSetting, normalize_server
from tools.shell.server_pipes import ServerGone

LONGEST_NAME = 64
"""Characters of a tool's name that every provider accepts."""

LONGEST_DESCRIPTION = 4_096
"""Characters of a tool's description that are sent; longer ones end with a mark."""

MOST_INSTRUCTIONS = 32_000
"""Characters of the instructions of all servers together."""


class McpServers:
    """MCP servers of a session.

    settings: entries by name, from the user's settings
    more: those of plugins and of the caller, or why one of them is refused
    sign_ins: folder of stored sign-ins
    """

    def __init__(
        self,
        at: Surroundings,
        settings: Mapping[str, ServerSetting],
        more: Mapping[str, ServerPlace | str] = {},
        sign_ins: Path | None = None,
    ) -> None:
        self._servers = {name: McpServer(at, name, place) for name, place in more.items()}
        for name, setting in settings.items():
            entry = normalize_server(setting)
            self._servers[name] = McpServer(
                at,
                name,
                _find_place(at, name, entry),
                start_seconds=entry.start_timeout,
                call_seconds=entry.call_timeout,
                sign_ins=sign_ins,
                uses_tool=entry.uses_tool,
            )
        self._joined = False

    def let_ask(self, ask: Ask, fill: Fill | None = None) -> None:
        """Let the servers ask the person in front of the session. fill: shows a whole form"""
        asker = Asker(ask=ask, fill=fill)
        for each in self:
            each.ask = asker

    def __iter__(self) -> Iterator[McpServer]:
        return iter(self._servers.values())

    def get(self, name: str) -> McpServer | None:
        return self._servers.get(name)

    async def start_all(self) -> list[str]:
        """Start all servers concurrently, once; return one line for each that failed, or that has a notice."""
        if self._joined:
            return []
        told = await asyncio.gather(*(_start_server(each) for each in self))
        self._joined = True  # only now: after Ctrl-C in between, the next turn starts them
        return [each for each in told if each]

    @property
    def tools(self) -> list[Tool]:
        """Tools of all servers that were started."""
        found: dict[str, Tool] = {}
        for server in self:
            for each in server.tools:
                tool = _make_tool(server, each)
                found.setdefault(tool.name, tool)
        return list(found.values())

    @property
    def instructions(self) -> dict[str, str]:
        """Instructions of the servers that were started, by the name of each one's first tool."""
        found: dict[str, str] = {}
        left = MOST_INSTRUCTIONS
        for server in self:
            said = server.identity.instructions if server.identity else ""
            if said and server.tools:
                text = clip(said, left)
                left = max(left - len(said), 0)
                text = enclose_in_tag("mcp-instructions", text, f" server={json.dumps(server.name)}")
                found.setdefault(_make_tool(server, server.tools[0]).name, text)
        return found

    async def close(self) -> None:
        """Stop all servers. A call restarts its server."""
        await asyncio.gather(*(each.close() for each in self))


@dataclass(frozen=True)
class McpTool(Tool):
    """A server's tool. The server validates its arguments."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check only that required arguments are present (see `Tool.validate`). Raises ToolFailure."""
        required = self.parameters.get("required")
        missing = (
            [str(name) for name in required if name not in arguments] if isinstance(required, list) else []
        )
        if missing:
            raise ToolFailure(f"{self.name}: {', '.join(missing)} missing, so nothing was done")
        return {"arguments": dict(arguments)}


def _find_place(at: Surroundings, name: str, settings: McpServerSettings) -> ServerPlace | str:
    """Return the place that settings name, with the rights that they give, or why there is none."""
    try:
        return grant_rights(find_place(fill_in_kept_folder(settings, at, name)), settings, at, name)
    except ValueError as error:
        return str(error)


async def _start_server(server: McpServer) -> str:
    try:
        await server.start()
    except ServerGone as gone:
        return f"mcp server {server.name}: {gone}"
    return f"mcp server {server.name}: {server.notice}" if server.notice else ""


def _make_tool(server: McpServer, described: ToolDescription) -> Tool:
    async def run(arguments: Mapping[str, Any], *, at: Workspace) -> Observation:
        about = f" server={json.dumps(server.name)}"
        try:
            result = await server.call(described, arguments)
        except ServerGone as gone:  # parts of the reason are the server's own words
            reason = enclose_in_tag("mcp-result", str(gone), about)
            raise ToolFailure(f"the mcp server {server.name} has no answer:\n{reason}") from None
        text = enclose_in_tag("mcp-result", result.text, about)
        cause = server.explain_cause(result.text) if result.failed else ""
        text = f"{text}\n[sandbox: {cause}]" if cause else text
        return Observation(text=text, failed=result.failed, pictures=result.pictures)

    def effect_of(arguments: Mapping[str, Any], at: Workspace) -> Effect:
        given = json.dumps(arguments.get("arguments", {}), ensure_ascii=False)
        return Effect(
            kind="mcp",
            server_tool=f"{server.name}.{described.name}",
            call=f"{described.name} {given}",
            reason=f"only the server {server.name} knows what that does",
        )

    return McpTool(
        name=re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp__{server.name}__{described.name}")[:LONGEST_NAME],
        description=clip(f"(of the MCP server {server.name}) {described.description}", LONGEST_DESCRIPTION),
        parameters=described.schema,
        run=run,
        effect_of=effect_of,
        reads_only=False,
    )
