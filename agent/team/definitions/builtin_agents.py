"""The agents that every session has."""

from __future__ import annotations

from pathlib import Path

from agent.team.definitions.agent_definition import AgentDefinition
from sandbox.policy.decision import Mode
from tools.core.tool_names import ToolGrant


def _grant(*names: str) -> tuple[ToolGrant, ...]:
    return tuple(ToolGrant(written=name, tools=(name,)) for name in names)


_LOOK = ("read", "list", "search", "code")

BUILT_IN: tuple[AgentDefinition, ...] = (
    AgentDefinition(
        name="explore",
        description="finds places and answers questions about the code; reports path:line with a sentence each",
        instructions="",
        tools=_grant(*_LOOK),
        mode=Mode.READ_ONLY,
        reports="findings",
    ),
    AgentDefinition(
        name="plan",
        description="plans a change: steps, files, checks",
        instructions="",
        tools=_grant(*_LOOK, "git_diff"),
        mode=Mode.READ_ONLY,
    ),
    AgentDefinition(
        name="tester",
        description="writes tests from the requirement and the interfaces, without seeing the code",
        instructions="",
        tools=_grant("list"),
        mode=Mode.READ_ONLY,
        reports="tests",
        hides_bodies=True,
    ),
    AgentDefinition(
        name="reviewer",
        description="reviews the uncommitted change; reports errors as path:line with a sentence each",
        instructions="",
        tools=_grant(*_LOOK, "git_status", "git_diff", "run_tests"),
        mode=Mode.READ_ONLY,
        reports="findings",
    ),
)


def read_instructions(agent: AgentDefinition) -> str:
    """Return an agent's instructions; those of the built-in ones are read when they are used."""
    if agent.instructions or agent.source != "built in":
        return agent.instructions
    path = Path(__file__).parents[2] / "prompts" / "agents" / f"{agent.name}.md"
    return path.read_text("utf-8").strip()
