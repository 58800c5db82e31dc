"""Hooks over actions: asked before the policy, at its questions, and after an action. They forbid; they never widen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval, Decision
from sandbox.policy.effects import Effect
from tools.core.action import Action, Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAdvice:
    """What hooks say before an action.

    decision: None, or a decision that counts if it is stricter than the policy's; "allow" answers its question
    arguments: others for the tool, which are judged as if the model had sent them; None for the same
    note: for the model, with the observation
    """

    decision: Decision | None = None
    arguments: Mapping[str, Any] | None = None
    note: str = ""

    def apply(self, decided: Decision, approval: Approval) -> tuple[Decision, str]:
        """Return the decision on an action, and who made it. decided: the policy's"""
        own = self.decision
        if own is None or decided.verdict == "deny":
            return decided, "policy"
        if own.verdict == "ask" and decided.verdict == "allow":
            if approval is Approval.NEVER:
                return Decision(verdict="deny", reason=f"{own.reason}, and nobody can be asked"), "hook"
            return own, "hook"
        if own.verdict == "deny" or (own.verdict == "allow" and decided.verdict == "ask"):
            return own, "hook"
        return decided, "policy"


NO_ADVICE = HookAdvice()


class ActionHooks(Protocol):
    """The hooks of a session, as the gateway asks them."""

    async def before_action(self, action: Action, effect: Effect) -> HookAdvice:
        """Return what hooks say of an action that has not been judged."""
        ...

    async def answer_question(self, action: Action, effect: Effect, question: Decision) -> Decision | None:
        """Return the hooks' answer to a question of the policy; None for none."""
        ...

    def follows(self, action: Action) -> bool:
        """Whether a hook waits for the end of this action."""
        ...

    async def after_action(self, action: Action, observation: Observation) -> Observation:
        """Return the observation with what hooks say of it."""
        ...
