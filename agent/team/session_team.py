"""The agents of one session: most sessions start none, so that this is imported with the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from agent.extension.extension_files import has_agent_files
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.definitions.builtin_agents import BUILT_IN
from agent.team.person import Person
from agent.turn.runtime import Runtime
from tools.core.action import Observation

if TYPE_CHECKING:
    from agent.team.definitions.agent_catalog import AgentCatalog
    from agent.team.team import Team

Attach = Callable[[Runtime, Home, "AgentCatalog | None"], Any]


class SessionTeam:
    """The agents of one session. Implements `ClosedFirst` and `Delegation`.

    person: who can be asked, None where nobody is there
    stays_open: the session outlives its turns, so that agents may work on between them
    """

    def __init__(self, runtime: Runtime, home: Home, catalog: AgentCatalog | None, attach: Attach) -> None:
        """attach: lets a child start agents; as `agent.team.attach.attach_team`"""
        self.person: Person | None = None
        self.stays_open = False
        self._runtime = runtime
        self._home = home
        self._catalog = catalog
        self._attach = attach
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
                equip=lambda child, agent: self._attach(child, self._home, limit_agents(agent, catalog)),
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
