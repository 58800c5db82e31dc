"""Tools and monitors that an agent has beside those of its session: to report, ask and share, within its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.children.child import Child
from agent.team.board.board_access import open_board
from agent.team.board.findings_board import FindingsBoard
from agent.team.child_tools import Outbox, make_ask_tool, make_findings_tool, make_tests_tool
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.tool_scope import ToolScope
from tools.core.registry import Tool

if TYPE_CHECKING:
    from agent.team.definitions.agent_memory import AgentMemory


def equip_child(
    child: Child,
    agent: AgentDefinition,
    outbox: Outbox,
    board: FindingsBoard,
    *,
    may_ask: bool,
    memory: AgentMemory | None,
) -> None:
    """Give a child the tools of an agent, and the limits of its file.

    may_ask: whether it may ask its parent; memory: its notes, None if it keeps none
    """
    runtime = child.runtime
    tools: list[Tool] = []
    if agent.hides_bodies:
        from agent.team import interface_view

        tools += [interface_view.read, interface_view.run_tests]
    if agent.reports == "findings":
        tools.append(make_findings_tool(outbox))
    elif agent.reports == "tests":
        tools.append(make_tests_tool(outbox))
    if may_ask:
        tools.append(make_ask_tool(outbox))
    if memory is not None:
        from agent.team.definitions.agent_memory import make_remember_tool

        tools.append(make_remember_tool(memory))
    runtime.toolbox.add(tools)
    if not agent.hides_bodies:  # what others have seen may be the code
        open_board(child, board)
    if any(each.scope is not None for each in (*(agent.tools or ()), *agent.denied)):
        resolve = runtime.workspace.files.resolve_relative
        runtime.loop.monitors.add_monitor(ToolScope(agent.name, agent.tools or (), agent.denied, resolve))
