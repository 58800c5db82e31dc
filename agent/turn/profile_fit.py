"""The profile of a session's model: its instructions, tools and outputs, fitted when the window is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.capabilities import SessionEnvironment, apply_descriptions, build_tool_specs
from agent.context.profile.profiles import (
    CHARACTERS_PER_TOKEN,
    OUTPUT_SHARE,
    PROFILES,
    SMALL_WINDOW,
    Profile,
    check_window,
    choose_profile,
    compute_output_cut,
    select_tools,
)
from agent.context.projection.projection import Projection
from agent.context.system_prompt import build_small_prompt
from agent.events import SessionStart, Signal
from agent.model.protocol import ContextOverflow, Model
from agent.monitor.answers import GO_ON, GoOn, Retry
from agent.monitor.monitor import Monitor
from agent.session.log import Session
from agent.session_settings import SessionSettings
from agent.turn.action_format import resolve_action_mode
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.registry import Toolbox

if TYPE_CHECKING:
    from agent.monitor.monitor import Turn


class RefitAfterRefusal(Monitor):
    """Fits the profile anew when a server tells its window only by refusing a request, and sends the request again."""

    def __init__(self, profile: ProfileFit, get_model: Callable[[], Model]) -> None:
        self._profile = profile
        self._get_model = get_model

    async def after_failure(self, turn: Turn, error: UserError) -> GoOn | Retry:
        if not isinstance(error, ContextOverflow) or not error.limit:
            return GO_ON
        before = turn.compressor.projection.fixed_tokens
        self._profile.fit(self._get_model(), "")
        return Retry() if turn.compressor.projection.fixed_tokens < before else GO_ON


@dataclass(slots=True, kw_only=True)
class ProfileFit:
    """Gives the model of one session what its profile says, and logs it."""

    session: Session
    projection: Projection
    toolbox: Toolbox
    settings: SessionSettings
    environment: SessionEnvironment | None
    profile: Profile = PROFILES["generic"]
    _commits: bool = False

    def offer_tools(self) -> None:
        """Offer the tools of the toolbox that the profile has."""
        offered = select_tools(self.profile, build_tool_specs(self.toolbox), commits=self._commits)
        self.projection.tools = tuple(apply_descriptions(offered, self.settings.descriptions))

    def fit(self, model: Model, prompt: str) -> None:
        """Choose the profile of a model whose window is known. Raises UserError if no work fits the window.

        prompt: of the turn; a commit is offered to small models where it speaks of one
        """
        if resolve_action_mode(model.name, self.settings.actions) == "code":
            return  # its tools are functions in a kernel
        chosen = choose_profile(self.settings.models.profile, model.window, model.name)
        commits = self._commits or "commit" in prompt.lower()
        if chosen is not self.profile or (commits and not self._commits):
            self.profile, self._commits = chosen, commits
            self.offer_tools()
        if (self.projection.profile or "generic") != chosen.name:
            self._log_instructions(chosen, model)
        check_window(model.window, self.projection.fixed_tokens, model.name)

    def _log_instructions(self, profile: Profile, model: Model) -> None:
        start = next(each for each in self.session.replayed.select_events(SessionStart) if each.system)
        system, shared, place = start.system, start.shared, self.environment
        if profile.name != "generic" and place is not None and not place.request.system:
            room = int(model.window / OUTPUT_SHARE * CHARACTERS_PER_TOKEN)
            system, shared = build_small_prompt(
                place.root,
                place.request.working.resolve(),
                room=room,
                hides=place.settings.access.rules.denies_reading,
            )
            if place.request.instructions:
                system += f"\n\n# Your part\n\n{place.request.instructions.strip()}\n"
        self.session.append(
            SessionStart(
                session=self.session.id,
                started_by=start.started_by,
                project=start.project,
                model=model.name,
                mode=start.mode,
                version=start.version,
                outputs=start.outputs,
                system=system,
                shared=shared,
                profile=None if profile.name == "generic" else profile.name,
                cut=compute_output_cut(profile, model.window) or None,
            )
        )
        if profile.name != "generic":
            why = f"a window of {model.window:,} tokens" if model.window <= SMALL_WINDOW else "a small model"
            why = why if self.settings.models.profile == "auto" else f"profile {profile.name}"
            detail = f"{why}: short instructions, {len(self.projection.tools)} tools"
            self.session.append(Signal(name="model", detail=detail))
