"""When the harness takes the lead: by the model's size, its replies so far, and what it can do at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.context.profile.profiles import is_below_a_billion
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from agent.session_settings import LeadSettings
    from agent.turn.runtime import Runtime
    from packages.offline.lead.idle_replies import IdleReplies
    from packages.offline.lead.lead_clock import LeadClock


@dataclass(slots=True, kw_only=True)
class LeadDecision:
    """The decision for one turn. prompt: of the turn; has_given_up: whether nothing is left to lead in it"""

    runtime: Runtime
    settings: LeadSettings
    replies: IdleReplies
    clock: LeadClock
    prompt: str = ""
    has_given_up: bool = False

    @property
    def is_weak(self) -> bool:
        """Whether mere words are no decision of the model's: it is small, or has got nowhere before."""
        return self.is_small or self.replies.count > 0

    @property
    def is_small(self) -> bool:
        return self.runtime.profile.profile.name != "generic"

    def has_to_lead(self) -> bool:
        if self.has_given_up or self.settings.when == "never":
            return False
        if self.settings.when == "auto" and not (self._is_stuck() or self.is_too_weak):
            return False
        if self.settings.when == "auto" and not self.clock.has_time:
            return False  # no question could be answered and verified
        return self.is_about_tests()

    def _is_stuck(self) -> bool:
        """Whether the last replies led nowhere; one is enough where a third of the time has gone."""
        count = self.replies.count
        return count >= self.settings.after or (count > 0 and self.clock.is_third_gone)

    @property
    def is_too_weak(self) -> bool:
        """Whether the model is of a size that drives no session, by its name."""
        return self.is_small and is_below_a_billion(self.runtime.loop.model.name)

    async def is_better_led(self) -> bool:
        """Whether a small model on this machine fills in code: that it does at once, and tools seldom."""
        if (
            self.has_given_up
            or self.settings.when != "auto"
            or not self.is_small
            or not self.is_about_tests()
        ):
            return False
        from packages.offline.infill.filler import has_filler

        return await has_filler(self.runtime.workspace, self.runtime.loop.model)

    def is_about_tests(self) -> bool:
        from agent.prompt.prompt_reader import read_intent

        intent = read_intent(self.prompt)
        if self.runtime.policy.mode is Mode.READ_ONLY or intent.forbids_edits:
            return False
        if intent.kind == "repair" or intent.wants_passing_tests:
            return True
        last = self.runtime.conclusion.evidence.last
        return self.replies.count > 0 and last is not None and last.report.get("outcome") == "failed"

    def explain(self) -> str:
        """Return why the harness leads."""
        if self.replies.count:
            return f"{self.replies.count} replies led nowhere"
        if self.settings.when == "always":
            return "as asked for"
        return (
            "a model below a billion parameters" if self.is_too_weak else "a small model that fills in code"
        )
