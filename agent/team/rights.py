"""What an agent gets: the intersection of what it asks for with the rights of the session that starts it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from agent.children.spec import ChildSpec, Place
from agent.session_settings import LimitSettings
from agent.team import OWN_TOOLS
from agent.team.definitions.agent_catalog import AgentCatalog
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.definitions.builtin_agents import read_instructions
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.core.tool_names import EDITORS, ToolGrant

WRITERS = frozenset({*EDITORS, "write", "rename", "git_commit"})
"""Tools that change files: an agent that asks for one works on its parent's files, one at a time, or in a worktree."""

NEVER = OWN_TOOLS | {"git_commit"}
"""Tools that are not handed on with all the others: a session commits for its agents."""

OPTIONAL = (("skill",), ("web_fetch",), ("web_search",))
"""Tools that a session has only where there are skills, or by settings: nothing is refused for want of them."""

_RANK = {mode: rank for rank, mode in enumerate((Mode.READ_ONLY, Mode.WORKSPACE, Mode.FULL))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """tools: names; mode, place: as in a `ChildSpec`; delegates: whether it may start agents itself"""

    tools: tuple[str, ...]
    mode: Mode
    place: Place
    delegates: bool = False


def decide_rights(agent: AgentDefinition, runtime: Runtime) -> Rights:
    """Return what an agent gets. Raises UserError that names what it asks for and its parent has not."""
    mode = runtime.policy.mode
    offered = [tool.name for tool in runtime.toolbox]
    if agent.mode is not None and _RANK[agent.mode] > _RANK[mode]:
        raise _build_refusal(
            agent,
            f"mode {agent.mode} (permissionMode)",
            f"the session that starts it works in mode {mode}",
            "Ask the user to change the mode, or the agent's file.",
        )
    selected = list(_select_tools(agent, offered, mode))
    denied = {tool for each in agent.denied if _is_whole(each) for tool in _list_tools(each, offered)}
    tools = tuple(dict.fromkeys(each for each in selected if each not in denied))
    writes = mode is not Mode.READ_ONLY and agent.mode is not Mode.READ_ONLY
    writes = writes and (agent.mode is not None or bool(WRITERS.intersection(tools)))
    delegates = "delegate" in tools
    own_files: Place = "worktree" if agent.isolation else "lease"
    return Rights(
        tools=tuple(each for each in tools if each not in OWN_TOOLS),
        mode=(agent.mode or mode) if writes else Mode.READ_ONLY,
        place=own_files if writes else "read-only",
        delegates=delegates,
    )


def build_spec(
    agent: AgentDefinition, rights: Rights, runtime: Runtime, *, task: str, session: str
) -> ChildSpec:
    """Return the child session of an agent. session: of an earlier one to go on with, "" for a new one"""
    settings = runtime.settings.agents
    model = settings.models.get(agent.name) or agent.model
    if model == "fast":
        model = runtime.settings.models.fast
    return ChildSpec(
        prompt=task,
        instructions="\n\n".join([read_instructions(agent), *_preload_skills(agent, runtime), PROTOCOL]),
        model=model,
        effort=agent.effort,
        tools=rights.tools,
        mode=rights.mode,
        place=rights.place,
        limits=LimitSettings(max_steps=agent.max_turns or settings.max_steps),
        session=session,
        agent=agent.name,
    )


def _preload_skills(agent: AgentDefinition, runtime: Runtime) -> Iterator[str]:
    """Yield the instructions of the skills that an agent's file names."""
    for name in agent.skills:
        found = runtime.skills.find_skill(name) if runtime.skills is not None else None
        if found is not None and runtime.skills is not None:
            yield runtime.skills.render_skill(found)
        else:
            yield f"Your instructions name the skill {name!r}, which there is not."


PROTOCOL = """Another agent gave you this task and knows only your report, so say in it all that matters, in at most \
250 words. If you cannot go on without an answer from it, call `ask`; do not guess what only it can know."""
"""For every agent, after its own instructions."""


def is_writer(agent: AgentDefinition, runtime: Runtime) -> bool:
    """Whether an agent would change its parent's files while it works. One that is refused changes none."""
    try:
        return decide_rights(agent, runtime).place == "lease"
    except UserError:
        return False


def _select_tools(agent: AgentDefinition, offered: Collection[str], mode: Mode) -> Iterator[str]:
    if agent.tools is None:
        yield from (each for each in offered if each not in NEVER)
        return
    for grant in agent.tools:
        found = [each for each in _list_tools(grant, offered) if each in offered]
        if grant.tools and not found and agent.source != "built in" and grant.tools not in OPTIONAL:
            raise _build_refusal(
                agent,
                f"the tool {grant.written}",
                "the session that starts it does not have it",
                "Take it out of the agent's file, or start a session that has it.",
            )
        if mode is Mode.READ_ONLY and WRITERS.intersection(found):
            raise _build_refusal(
                agent,
                f"the tool {grant.written}",
                "the session that starts it may not change files (mode read-only)",
                "Ask the user to change the mode, or take another agent.",
            )
        yield from found


def limit_agents(agent: AgentDefinition, catalog: AgentCatalog) -> AgentCatalog:
    """Return the agents that an agent may start: those that its file names as `Agent(a, b)`, or all.

    A name without a plugin's means the one of its own plugin, too.
    """
    own = agent.name.rpartition(":")[0]
    starts = [each for each in agent.tools or () if "delegate" in each.tools]
    kept = {name for each in starts for name in _qualify(each.agents, own)}
    denied = {name for each in agent.denied for name in _qualify(each.agents, own)}
    is_limited = bool(starts) and all(each.agents for each in starts)
    return replace(
        catalog,
        agents={
            name: each
            for name, each in catalog.agents.items()
            if name not in denied and (name in kept or not is_limited)
        },
    )


def _qualify(names: Collection[str], plugin: str) -> Iterator[str]:
    for name in names:
        yield name.lower()
        yield f"{plugin}:{name.lower()}"


def _is_whole(grant: ToolGrant) -> bool:
    return grant.scope is None and not grant.agents


def _list_tools(grant: ToolGrant, offered: Collection[str]) -> list[str]:
    """Return the tools of an entry; those of a server, with `mcp__server__*`, as far as they are offered."""
    found: list[str] = []
    for name in grant.tools:
        starts = name.removesuffix("*")
        found += [each for each in offered if each.startswith(starts)] if name.endswith("*") else [name]
    return found


def _build_refusal(agent: AgentDefinition, wanted: str, reason: str, hint: str) -> UserError:
    return UserError(Fault.DENIED, f"agent {agent.name!r} asks for {wanted}, but {reason}", hint)
