"""Our MCP client as `@modelcontextprotocol/conformance` drives it: python -m tests.support.mcp_conformance_client URL

    conformance client --command "python -m tests.support.mcp_conformance_client" --scenario NAME

lists what the server at URL offers, calls each tool once, reads each resource, and accepts the defaults of forms.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.tools.workspaces import workspace
from tools.core.action import ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.mcp.server_tools import McpServers

VALUES: Mapping[str, Any] = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}
"""An argument of each type; texts are "text"."""


async def use_server(url: str, at: Workspace) -> int:
    """Use all that a server offers; return an exit code."""

    async def accept_default(question: str, options: Sequence[str]) -> str:
        print(f"asked: {question}")
        return ""

    servers = McpServers(at, {"server": url})
    servers.let_ask(accept_default)
    try:
        if problems := await servers.start_all():
            print(*problems, sep="\n", file=sys.stderr)
            return 1
        for name, given in choose_calls(servers.tools):
            tool = next(each for each in servers.tools if each.name == name)
            try:
                print((await tool.run(**tool.validate(given), at=at)).text)
            except ToolFailure as failure:  # as a scenario may want it
                print(failure, file=sys.stderr)
        for server in servers:
            for resource in server.resources:
                print(await server.read_resource(resource.uri))
    finally:
        await servers.close()
    return 0


def choose_calls(tools: Sequence[Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that the scenario names, or one of each tool; a tool that takes a schema gets the first one's."""
    named = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
    if named:
        for each in named:
            yield f"mcp__server__{each['name']}", each["arguments"]
        return
    for tool in tools:
        properties = tool.parameters.get("properties", {})
        given = {name: VALUES.get(each.get("type"), "text") for name, each in properties.items()}
        if "schema" in given:
            given["schema"] = tools[0].parameters
        yield tool.name, given


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATCHWRIGHT_HOME"] = f"{folder}/home"
        return asyncio.run(use_server(sys.argv[1], workspace(Path(folder), {})))


if __name__ == "__main__":
    sys.exit(main())
