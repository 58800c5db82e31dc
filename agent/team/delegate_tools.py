"""`delegate`: the tool of a session that may start agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.person import Person
from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.text import clip
from tools.core.workspace import Workspace

LONGEST_ABOUT = 160
"""Characters of an agent's description that a model is told."""

MOST_TOLD = 24
"""Agents that a model is told of by name; it may call the others, too."""

LONGEST_TASK = 20_000


class Delegation(Protocol):
    """The agents of a session, as its tools use them: `agent.team.team.Team`."""

    person: Person | None

    def get_agent(self, name: str) -> AgentDefinition: ...

    def is_writer(self, name: str, child: str) -> bool:
        """Whether an agent, or the one that was started as `child`, would change files."""
        ...

    async def delegate(
        self, agent: AgentDefinition, task: str, *, child: str = "", background: bool = False
    ) -> Observation: ...

    async def ask_child(self, child: str, task: str) -> Observation: ...


def make_delegate_tool(team: Delegation, agents: Mapping[str, AgentDefinition]) -> Tool:
    """Return the tool that hands work over to agents. agents: those that a model is told of"""

    def changes_files(arguments: Mapping[str, Any]) -> bool:
        return team.is_writer(str(arguments.get("agent") or ""), str(arguments.get("child") or ""))

    def effect_of(arguments: Mapping[str, Any], at: Workspace) -> Effect:
        writes = changes_files(arguments)
        return Effect(kind="write" if writes else "none", reason="an agent changes files" if writes else "")

    @tool(effect=effect_of)
    async def delegate(
        agent: str = "", task: str = "", child: str = "", background: bool = False, *, at: Workspace
    ) -> Observation:
        """Hand a large separate question or check to an agent with its own context; it reports. Several run at once.

        task: all it has to know: it sees nothing of this
        child: id of an earlier agent, for its next task; without a task: wait for its report
        background: report later
        """
        if len(task) > LONGEST_TASK:
            raise ToolFailure(
                f"delegate: the task is longer than {LONGEST_TASK} characters: name files instead"
            )
        if child.strip():
            return await team.ask_child(child.strip(), task.strip())
        found = team.get_agent(agent)
        if not task.strip():
            raise ToolFailure("delegate: say in `task` what the agent is to do")
        return await team.delegate(found, task.strip(), background=background or found.background)

    told = [
        f"{each.name}: {clip(each.description, LONGEST_ABOUT)}" for each in list(agents.values())[:MOST_TOLD]
    ]
    return replace(
        delegate,
        description="\n".join([delegate.description, "Agents:", *told]),
        runs_beside=lambda arguments: not changes_files(arguments),
        is_tracked=True,
    )
