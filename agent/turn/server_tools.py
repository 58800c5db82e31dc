"""How the tools of MCP servers are offered: all of them, or looked up when they would fill the requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import Signal
from tools.core.call_aliases import FIND
from tools.core.registry import Tool
from tools.discovery.deferred_tools import DeferredTools, is_worth_deferring

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime


def offer_server_tools(runtime: Runtime, tools: Sequence[Tool]) -> None:
    """Offer tools of servers to the model, as the setting `tool_search` says; one line tells if they are looked up."""
    wanted = runtime.settings.tools.tool_search
    if wanted == "never" or (wanted == "auto" and not is_worth_deferring(tools, runtime.model.window)):
        runtime.toolbox.add(tools)
        return
    runtime.toolbox.add(offered=DeferredTools(tools).make_search(), accepted=tools)
    runtime.session.append(
        Signal(
            name="mcp",
            detail=f"{len(tools)} tools of servers are looked up with {FIND}, not sent with every request",
        )
    )
