"""`@server:uri` in a prompt: the resource's text follows the prompt, as untrusted text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator

from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.redaction import redact
from tools.core.untrusted_output import enclose_in_tag, format_note, remove_foreign_text
from tools.mcp.server_connection import McpServer
from tools.mcp.server_tools import McpServers
from tools.shell.server_pipes import ServerGone

MOST_RESOURCES = 10
"""Resources that one prompt includes."""

LONGEST_RESOURCE = 40_000
"""Characters of a resource in a prompt; its beginning is more use than nothing."""

_MENTION = compile_lazily(r"(?<![^\s(])@([A-Za-z0-9_-]+):([^\s@]+)")


async def insert_resources(prompt: str, servers: McpServers, start: Callable[[], Awaitable[None]]) -> str:
    """Return a prompt with the resources that it mentions behind it; one that cannot be read is a note.

    start: starts the servers, if the prompt mentions one
    """
    found = list(dict.fromkeys(_find_mentions(prompt, servers)))[:MOST_RESOURCES]
    if not found:
        return prompt
    await start()
    return "\n\n".join([prompt, *[await _read(server, _trim_uri(server, uri)) for server, uri in found]])


def _find_mentions(prompt: str, servers: McpServers) -> Iterator[tuple[McpServer, str]]:
    for match in _MENTION.finditer(remove_foreign_text(prompt)):
        if (server := servers.get(match[1])) is not None:
            yield server, match[2]


def _trim_uri(server: McpServer, uri: str) -> str:
    """Return an address without the punctuation of the sentence around it, unless a resource has it."""
    if any(each.uri == uri for each in server.resources):
        return uri
    return uri.rstrip(".,;:!?)\"'")


async def _read(server: McpServer, uri: str) -> str:
    about = f" server={json.dumps(server.name)} uri={json.dumps(uri)}"
    try:
        text = redact(await server.read_resource(uri))
    except ServerGone as gone:
        note = format_note(f"the resource {uri} of the MCP server {server.name} was not read")
        return f"{note}\n{enclose_in_tag('mcp-resource', str(gone), about)}"  # partly the server's own words
    note = ""
    if len(text) > LONGEST_RESOURCE:
        note = "\n" + format_note(f"{len(text) - LONGEST_RESOURCE:,} more characters are left out")
        text = text[:LONGEST_RESOURCE]
    return enclose_in_tag("mcp-resource", text, about) + note
