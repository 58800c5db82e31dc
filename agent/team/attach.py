"""Give a session its agents. What does the work is imported with the first call: most sessions start none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from agent.app_dirs import Home
from agent.events import Event, Prompt
from agent.extension.extension_files import has_agent_files
from agent.session.branch_history import History
from agent.team import OWN_TOOLS
from agent.turn.runtime import Runtime
from sandbox.deferred import defer
from sandbox.lazy_pattern import compile_lazily
from tools.core.registry import Tool

if TYPE_CHECKING:
    from agent.team.definitions.agent_catalog import AgentCatalog
    from agent.team.person import Person
    from agent.team.session_team import SessionTeam

LONG_PROMPT = 120
"""Words of a prompt from which on a task may have parts that an agent can do by itself."""

MANY_PARTS = 3
"""Items of a list in a prompt that count as separate parts."""

_ASKS = compile_lazily(
    r"\b(?:sub-?)?agents?\b|\bdelegat|\b(?:in|at) parallel\b|\bhand(?:s|ed)? (?:it |this |that )?(?:over|off)\b"
    r"|\bindependent(?:ly)? review|\bexplore\b|\bat the same time\b|\bwhole (?:repository|repo|code ?base)\b",
    re.IGNORECASE,
)
_CUES = ("agent", "delegat", "parallel", "hand", "independent", "explore", "same time", "whole ")
"""One of these is in all that the pattern finds."""

_ITEM = compile_lazily(r"^\s*(?:[-*+]|[0-9]{1,2}[.)])\s+\S", re.MULTILINE)


def attach_team(runtime: Runtime, home: Home, catalog: AgentCatalog | None = None) -> SessionTeam | None:
    """Let a session start agents. None where no model drives it.

    catalog: the agents, None for those of its workspace. Models are offered the tool where a parent gave it by name;
    else, if the settings allow it, from the first prompt on in which it may pay, or at once where the user or the
    project wrote agents. One that calls it all the same is served
    """
    if runtime.environment is None or runtime.model.name == "offline":
        return None
    attached = defer(
        lambda: _create_team(runtime, home, catalog), person=None, stays_open=False, is_used=False
    )
    if any(runtime.toolbox.get(each) is not None for each in OWN_TOOLS - {"ask", "report"}):
        return None
    tools = [defer(lambda: _create_delegate_tool(attached), name="delegate")]
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
    runtime.toolbox.add(
        offered=tools if is_offered else (), accepted=[*tools, _defer_ask_user_tool(attached)]
    )
    runtime.team = attached
    if has_children:
        attached.follow()  # tells the model of agents that a kill cut off
    return attached


def _create_team(runtime: Runtime, home: Home, catalog: AgentCatalog | None) -> SessionTeam:
    from agent.team.session_team import SessionTeam

    return SessionTeam(runtime, home, catalog, attach_team)


def _create_delegate_tool(team: SessionTeam) -> Tool:
    from agent.team.delegate_tools import make_delegate_tool

    return make_delegate_tool(team, team.agents)


def _defer_ask_user_tool(team: SessionTeam) -> Tool:
    def create() -> Tool:
        from agent.team.ask_user_tool import make_ask_user_tool

        return make_ask_user_tool(team)

    return defer(create, name="ask_user")


def _has_such_prompt(history: History) -> bool:
    """Whether the last prompt of a resumed session may use agents: its turn may go on."""
    place = history.find_newest_place("prompt")
    prompt = history.get_event(f"e{place}") if place else None
    return isinstance(prompt, Prompt) and may_use_agents(prompt.text)


def find_session_team(runtime: Runtime) -> SessionTeam | None:
    """Return the agents of a session that has some."""
    return cast("SessionTeam | None", runtime.team)


def attach_person(runtime: Runtime, person: Person, *, stays_open: bool = True) -> None:
    """Let agents, the model and MCP servers ask somebody.

    stays_open: the session outlives its turns, so that agents may work on
    """
    if runtime.mcp is not None:
        from agent.team.person import FormPerson, UserQuestion

        runtime.mcp.let_ask(
            lambda text, options: person.answer(UserQuestion(text, list(options))),
            person.fill_form if isinstance(person, FormPerson) else None,
        )
    if (attached := find_session_team(runtime)) is not None:
        attached.person, attached.stays_open = person, stays_open
        runtime.toolbox.add(offered=[_defer_ask_user_tool(attached)])


def may_use_agents(prompt: str) -> bool:
    """Return whether a prompt asks for agents, or is a task in which they may pay: a long one, or one of parts."""
    words = prompt.lower()
    if any(each in words for each in _CUES) and _ASKS.search(prompt):
        return True
    if prompt.count("\n") >= MANY_PARTS - 1 and len(_ITEM.findall(prompt)) >= MANY_PARTS:
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
