"""Give a session its agents. What does the work is imported with the first call: most sessions start none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.events import Event, Prompt
from agent.session.branch_history import History
from agent.team.ask_user_tool import make_ask_user_tool
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.definitions.agent_folders import has_agent_files
from agent.team.definitions.builtin_agents import BUILT_IN, OWN_TOOLS
from agent.team.delegate_tools import make_delegate_tool
from agent.team.person import Person, UserQuestion
from agent.turn.runtime import Runtime
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Observation

if TYPE_CHECKING:
    from agent.team.definitions.agent_catalog import AgentCatalog
    from agent.team.team import Team

LONG_PROMPT = 120
"""Words of a prompt from which on a task may have parts that an agent can do by itself."""

MANY_PARTS = 3
"""Items of a list in a prompt that count as separate parts."""

_ASKS = compile_lazily(
    r"\b(?:sub-?)?agents?\b|\bdelegat|\b(?:in|at) parallel\b|\bhand(?:s|ed)? (?:it |this |that )?(?:over|off)\b"
    r"|\bindependent(?:ly)? review|\bexplore\b|\bat the same time\b|\bwhole (?:repository|repo|code ?base)\b",
    re.IGNORECASE,
)
_ITEM = compile_lazily(r"^\s*(?:[-*+]|[0-9]{1,2}[.)])\s+\S", re.MULTILINE)


class SessionTeam:
    """The agents of one session. Implements `ClosedFirst` and `Delegation`.

    person: who can be asked, None where nobody is there
    stays_open: the session outlives its turns, so that agents may work on between them
    """

    def __init__(self, runtime: Runtime, home: Home, catalog: AgentCatalog | None = None) -> None:
        self.person: Person | None = None
        self.stays_open = False
        self._runtime = runtime
        self._home = home
        self._catalog = catalog
        self._team: Team | None = None

    @property
    def is_used(self) -> bool:
        """Whether an agent was started, or might have been."""
        return self._team is not None

    @property
    def agents(self) -> Mapping[str, AgentDefinition]:
        """The agents by name; those in files are read now."""
        if self._catalog is None and not has_agent_files(self._home, self._runtime.workspace.root):
            return {each.name: each for each in BUILT_IN}
        return self.load_catalog().agents

    def load_catalog(self) -> AgentCatalog:
        """Return the agents, with what of their files is not used; read once."""
        if self._catalog is None:
            from agent.team.definitions.agent_catalog import load_agents

            self._catalog = load_agents(self._home, self._runtime.workspace.root)
        return self._catalog

    @property
    def team(self) -> Team:
        """The agents at work and those that have reported."""
        if self._team is None:
            from agent.team.rights import limit_agents
            from agent.team.team import Team
            from agent.team.team_monitor import BackgroundReports

            catalog = self.load_catalog()
            self._team = Team(
                self._runtime,
                self._home,
                catalog,
                self._runtime.settings.agents,
                equip=lambda child, agent: attach_team(child, self._home, limit_agents(agent, catalog)),
            )
            self._runtime.loop.monitors.add_monitor(
                BackgroundReports(self._team, self._ends_turn, lambda: self.stays_open)
            )
        return self._team

    def follow(self) -> None:
        """Follow the session's children from now on, whoever starts them."""
        _ = self.team

    def get_agent(self, name: str) -> AgentDefinition:
        """See `Team.get_agent`."""
        return self.team.get_agent(name)

    def is_writer(self, name: str, child: str) -> bool:
        """See `Team.is_writer`."""
        return self.team.is_writer(name, child)

    async def delegate(
        self, agent: AgentDefinition, task: str, *, child: str = "", background: bool = False
    ) -> Observation:
        """See `Team.delegate`."""
        return await self.team.delegate(agent, task, child=child, background=background)

    async def ask_child(self, child: str, task: str) -> Observation:
        """See `Team.ask_child`."""
        return await self.team.ask_child(child, task)

    async def close(self) -> None:
        """See `Team.close`."""
        if self._team is not None:
            await self._team.close()

    def _ends_turn(self, name: str) -> bool:
        found = self._runtime.toolbox.get(name)
        return found is not None and found.ends


def attach_team(runtime: Runtime, home: Home, catalog: AgentCatalog | None = None) -> SessionTeam | None:
    """Let a session start agents. None where no model drives it.

    catalog: the agents, None for those of its workspace. Models are offered the tool where a parent gave it by name;
    else, if the settings allow it, from the first prompt on in which it may pay, or at once where the user or the
    project wrote agents. One that calls it all the same is served
    """
    if runtime.environment is None or runtime.model.name == "offline":
        return None
    attached = SessionTeam(runtime, home, catalog)
    if any(runtime.toolbox.get(each) is not None for each in OWN_TOOLS - {"ask", "report"}):
        return None
    tools = [make_delegate_tool(attached, attached.agents)]
    history = runtime.session.replayed
    has_children = bool(history.find_newest_place("child"))
    is_offered = catalog is not None
    if runtime.settings.agents.delegate and not is_offered:
        is_offered = (
            has_children or has_agent_files(home, runtime.workspace.root) or _has_such_prompt(history)
        )
        if not is_offered:
            offer = DelegateOffer(lambda: runtime.toolbox.add(offered=tools))
            runtime.session.subscribe(offer.handle_event)
    runtime.toolbox.add(offered=tools if is_offered else (), accepted=[*tools, make_ask_user_tool(attached)])
    runtime.team = attached
    if has_children:
        attached.follow()  # tells the model of agents that a kill cut off
    return attached


def _has_such_prompt(history: History) -> bool:
    """Whether the last prompt of a resumed session may use agents: its turn may go on."""
    place = history.find_newest_place("prompt")
    prompt = history.get_event(f"e{place}") if place else None
    return isinstance(prompt, Prompt) and may_use_agents(prompt.text)


def find_session_team(runtime: Runtime) -> SessionTeam | None:
    """Return the agents of a session that has some."""
    return runtime.team if isinstance(runtime.team, SessionTeam) else None


def attach_person(runtime: Runtime, person: Person, *, stays_open: bool = True) -> None:
    """Let agents, the model and MCP servers ask somebody.

    stays_open: the session outlives its turns, so that agents may work on
    """
    if runtime.mcp is not None:
        runtime.mcp.let_ask(lambda text, options: person.answer(UserQuestion(text, list(options))))
    if (attached := find_session_team(runtime)) is not None:
        attached.person, attached.stays_open = person, stays_open
        runtime.toolbox.add(offered=[make_ask_user_tool(attached)])


def may_use_agents(prompt: str) -> bool:
    """Return whether a prompt asks for agents, or is a task in which they may pay: a long one, or one of parts."""
    if _ASKS.search(prompt) or len(_ITEM.findall(prompt)) >= MANY_PARTS:
        return True
    return len(prompt.split()) >= LONG_PROMPT


class DelegateOffer:
    """Offers the tool at the first prompt that may use it. offer: adds the tool to the session's"""

    def __init__(self, offer: Callable[[], None]) -> None:
        self._offer: Callable[[], None] | None = offer

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        if self._offer is not None and isinstance(event, Prompt) and may_use_agents(event.text):
            self._offer()
            self._offer = None
