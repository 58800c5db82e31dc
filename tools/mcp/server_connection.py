"""Connection to one MCP server: lists its tools and calls them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from patchwright.version import VERSION
from sandbox.process.command_line import CommandLine
from sandbox.secrets.known_values import register_secrets
from tools.code.lsp.server_process import ServerGone
from tools.core.surroundings import Surroundings
from tools.mcp.stdio_process import McpProcess

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol versions, the first one is requested; the parts we use are the same in all."""

START_SECONDS = 30.0
"""Time limit until the server has listed its tools: some are first downloaded from a registry."""

CALL_SECONDS = 300.0

MOST_TOOLS = 128
"""Tools of one server: more would fill the model's window before the first request."""

MOST_PAGES = 32

LONGEST_CURSOR = 4_096
"""Characters of a cursor, which is sent back."""

MOST_SCHEMA_CHARACTERS = 256 << 10
"""Of all tools of one server, as JSON: for the same reason."""

DEEPEST_SCHEMA = 64
"""Levels of one tool's schema: the parsers of some providers end at a hundred."""

LONGEST_TOOL_NAME = 128
"""Characters that the protocol allows; longer ones would fill the question for approval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescription:
    """One tool, as its server describes it. schema: JSON schema of its arguments"""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """Result of a call. failed: reported by the server"""

    text: str
    failed: bool


class McpServer:
    """One server by its name in the settings.

    tools: from its last start; why: reason that it is not running; "" if it runs or was never started
    """

    def __init__(self, at: Surroundings, name: str, line: CommandLine) -> None:
        self.name = name
        self.tools: Sequence[ToolDescription] = ()
        self.why = ""
        self._at = at
        self._line = line
        register_secrets(line.environment)
        self._process: McpProcess | None = None
        self._starting = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    async def start(self) -> None:
        """Start the server if needed, and list its tools. Raises ServerGone."""
        async with self._starting:
            if self.alive:
                return
            await self.close()
            self._process = process = McpProcess(self._at)
            try:
                async with asyncio.timeout(START_SECONDS):
                    await process.start(self._line)
                    await self._initialize(process)
                    self.tools = await self._list_tools(process)
            except TimeoutError:
                await self._fail_start(f"it told no tools within {START_SECONDS:g} s")
            except ServerGone as gone:
                await self._fail_start(str(gone))
            except asyncio.CancelledError:
                await process.close()
                raise
            self.why = ""

    async def try_start(self) -> None:
        """Start the server if needed; on failure `why` has the reason."""
        with suppress(ServerGone):
            await self.start()

    async def call(self, tool: ToolDescription, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool as it was described; a server that has ended is restarted. Raises ServerGone."""
        await self.start()
        assert self._process is not None
        if tool not in self.tools:  # what the user approved, and the model read, is another one
            raise ServerGone(f"since its restart {tool.name} is another tool; a new session takes that one")
        parameters = {"name": tool.name, "arguments": dict(arguments)}
        try:
            answer = await self._process.request("tools/call", parameters, CALL_SECONDS)
        except ServerGone as gone:
            if not self.alive:
                self.why = str(gone)
            raise
        if not isinstance(answer, Mapping):
            raise ServerGone("it answered with something that is no result")
        return CallResult(text=_format_contents(answer), failed=answer.get("isError") is True)

    async def close(self) -> None:
        """Stop the server; a later call restarts it."""
        process, self._process = self._process, None
        if process is not None:
            await process.close()

    async def _initialize(self, process: McpProcess) -> None:
        wanted = {
            "protocolVersion": VERSIONS[0],
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "patchwright", "version": VERSION},
        }
        answer = await process.request("initialize", wanted, START_SECONDS)
        version = answer.get("protocolVersion") if isinstance(answer, Mapping) else None
        if version not in VERSIONS:
            raise ServerGone(f"it speaks version {version!r:.60} of the protocol, which is not known here")
        process.notify("notifications/initialized")

    async def _list_tools(self, process: McpProcess) -> list[ToolDescription]:
        found: dict[str, ToolDescription] = {}
        cursor = None
        size = 0
        for _ in range(MOST_PAGES):
            page = await process.request("tools/list", {"cursor": cursor} if cursor else {}, START_SECONDS)
            if not isinstance(page, Mapping) or not isinstance(page.get("tools"), list):
                raise ServerGone("it told no list of tools")
            for each in page["tools"]:
                if (tool := _parse_tool(each)) is None:
                    continue
                size += len(json.dumps(tool.schema))
                if len(found) == MOST_TOOLS or size > MOST_SCHEMA_CHARACTERS:
                    return list(found.values())
                found[tool.name] = tool
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not 0 < len(cursor) <= LONGEST_CURSOR:
                break
        return list(found.values())

    async def _fail_start(self, why: str) -> None:
        self.why = why
        await self.close()
        raise ServerGone(why)


def _parse_tool(tool: object) -> ToolDescription | None:
    if not isinstance(tool, Mapping) or not isinstance(tool.get("name"), str):
        return None
    name = tool["name"]
    if not 0 < len(name) <= LONGEST_TOOL_NAME:
        return None
    return ToolDescription(
        name=_replace_surrogates(name),
        description=_replace_surrogates(str(tool.get("description") or tool.get("title") or "")),
        schema={"properties": {}, **_parse_schema(tool.get("inputSchema")), "type": "object"},
    )


def _parse_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments; an empty one, which allows all, if it would spoil every request."""
    if not isinstance(schema, Mapping):
        return {}
    shape = {key: each for key, each in schema.items() if key != "$schema"}
    properties, required = shape.get("properties", {}), shape.get("required", [])
    if not isinstance(properties, Mapping) or not all(
        isinstance(each, dict | bool) for each in properties.values()
    ):
        return {}
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        return {}
    try:
        text = json.dumps(shape, ensure_ascii=False)
    except RecursionError:
        return {}
    depth = max(accumulate((character in "{[") - (character in "}]") for character in text))
    return shape if depth <= DEEPEST_SCHEMA and text == _replace_surrogates(text) else {}


def _replace_surrogates(text: str) -> str:
    """Replace halves of characters, which JSON can spell and no file or request can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _format_contents(answer: Mapping[str, Any]) -> str:
    """Return the contents as text; other kinds are only mentioned."""
    parts: list[str] = []
    contents = answer.get("content")
    for each in contents if isinstance(contents, list) else ():
        if not isinstance(each, Mapping):
            continue
        resource = each.get("resource")
        match each.get("type"):
            case "text":
                parts.append(str(each.get("text", "")))
            case "resource" if isinstance(resource, Mapping) and "text" in resource:
                parts.append(f"{resource.get('uri', '')}:\n{resource['text']}")
            case "resource_link":
                parts.append(f"{each.get('name', '')}: {each.get('uri', '')}")
            case kind:
                parts.append(f"({kind}, {each.get('mimeType', 'of no named type')}: not shown)")
    if not parts and "structuredContent" in answer:
        try:
            parts.append(json.dumps(answer["structuredContent"], ensure_ascii=False))
        except RecursionError:
            parts.append("(nested too deeply: not shown)")
    return _replace_surrogates("\n".join(parts))
