"""/mcp: the MCP servers of the settings, their state and their tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.output.style.paint import get_mark
from cli.output.style.terminal import truncate_text
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from tools.mcp.server_connection import McpServer

HOW = (
    "no MCP server is named: in your settings, below [mcp], a line like\n"
    '  tickets = "tickets-mcp --read-only"\n'
    "or with the address of a server in place of the command.\n"
    "!patchwright config path says where they are; a new session starts it"
)


async def mcp(chat: Conversation, argument: str) -> None:
    """Show all servers with their state, or one with its tools; `restart NAME` restarts it."""
    servers = chat.runtime.mcp
    if servers is None:
        chat.show_message(HOW)
        return
    first, _, second = argument.partition(" ")
    name = second.strip() if first == "restart" else argument
    server = servers.get(name)
    if name and server is None:
        raise UserError(
            Fault.USAGE, f"no MCP server {name!r}", f"There are: {', '.join(each.name for each in servers)}."
        )
    if first == "restart" and server is not None:
        await server.close()
        chat.front.show_activity(f"starting {server.name}")
        await server.try_start()
    await chat.runtime.start_mcp_servers()
    if server is not None:
        _show_server(chat, server)
        return
    chat.view.show_note("\n".join(_format_server(chat, each) for each in servers))


def _format_server(chat: Conversation, server: McpServer) -> str:
    unicode = chat.front.terminal.unicode
    if server.why:
        return sanitize_text(f"{get_mark('bad', unicode=unicode)} {server.name}: {server.why}")
    state = "running" if server.alive else "not running; the next call starts it"
    offers = [format_count(len(server.tools), "tool")]
    for found, word in ((server.resources, "resource"), (server.prompts, "prompt")):
        if found:
            offers.append(format_count(len(found), word))
    notice = "".join(f"; {each}" for each in (server.rights, server.notice) if each)
    mark = get_mark("action", unicode=unicode)
    return sanitize_text(f"{mark} {server.name}: {state}, {', '.join(offers)}{notice}")


def _show_server(chat: Conversation, server: McpServer) -> None:
    width = chat.front.terminal.columns
    lines = [_format_server(chat, server)]
    for name, about in _list_offers(server):
        line = f"  {name}  {about.partition(chr(10))[0]}"
        lines.append(truncate_text(sanitize_text(line.replace("\t", " ")), width))
    chat.view.show_note("\n".join(lines))


def _list_offers(server: McpServer) -> Iterator[tuple[str, str]]:
    """Yield tools by their names, resources and prompts as they are typed, each with its description."""
    from agent.extension.servers.prompt_calls import list_prompts

    for tool in server.tools:
        yield tool.name, tool.description
    for resource in server.resources:
        yield f"@{server.name}:{resource.uri}", resource.description or resource.name
    for prompt in list_prompts([server]):
        yield f"/{prompt.name} {prompt.argument_hint}".rstrip(), prompt.prompt.description


def _list_servers(chat: Conversation) -> Iterator[tuple[str, str]]:
    for each in chat.runtime.mcp or ():
        yield each.name, "running" if each.alive else "not running"


COMMANDS = (
    Command(
        name="/mcp",
        argument="[NAME]",
        help="MCP servers: state and tools",
        details="/mcp NAME: what one can do; /mcp restart NAME: end it and start it again.\n"
        "Servers are named in your settings, below [mcp].",
        run=mcp,
        choices=_list_servers,
        while_working=False,
    ),
)
