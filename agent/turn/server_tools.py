"""How the tools of MCP servers are offered: all of them, or looked up when they would fill the requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agent.events import Signal
from agent.session.log import Session
from tools.core.call_aliases import FIND
from tools.core.registry import Tool, Toolbox
from tools.core.tool_settings import ToolSearch
from tools.discovery.deferred_tools import DeferredTools, is_worth_deferring
from tools.mcp.server_tools import McpServers


async def start_servers(
    servers: McpServers,
    toolbox: Toolbox,
    session: Session,
    *,
    only: Collection[str] | None,
    wanted: ToolSearch,
    window: int,
) -> None:
    """Start the servers, once, and offer tools that are not offered yet; failures are logged.

    only: names of the tools that the session may have; wanted, window: see `offer_server_tools`
    """
    for each in await servers.start_all():
        session.append(Signal(name="mcp", detail=each))
    new = [
        each
        for each in servers.tools
        if toolbox.get(each.name) is None and (only is None or each.name in only)
    ]
    if new:
        offer_server_tools(new, toolbox, session, servers.instructions, wanted=wanted, window=window)


def offer_server_tools(
    tools: Sequence[Tool],
    toolbox: Toolbox,
    session: Session,
    instructions: Mapping[str, str] = {},
    *,
    wanted: ToolSearch,
    window: int,
) -> None:
    """Offer tools of servers to the model; one line of the session tells if they are looked up.

    instructions: of the servers, by the name of each one's first tool; they are sent with that tool, or with the
        search
    wanted: the setting `tool_search`; window: tokens of the model's window
    """
    told_first = [_prepend_text(each, instructions.get(each.name, "")) for each in tools]
    if wanted == "never" or (wanted == "auto" and not is_worth_deferring(told_first, window)):
        toolbox.add(told_first)
        return
    find, call = DeferredTools(tools).make_search()
    find = _prepend_text(find, "\n".join(instructions.values()))
    toolbox.add(offered=[find, call], accepted=tools)
    told = f"{len(tools)} tools of servers are looked up with {FIND}, not sent with every request"
    session.append(Signal(name="mcp", detail=told))


def _prepend_text(tool: Tool, text: str) -> Tool:
    """Return a tool whose description ends as it did: with its last word, or the mark of a cut."""
    return replace(tool, description=f"{text}\n{tool.description}") if text else tool
