"""Check of an action's timing and of its part in the session, made by the gateway in addition to the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect
from tools.core.action import Action

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunAction:
    """An action that is logged as begun and has not run. command: its command line, parsed; None without one"""

    action: Action
    effect: Effect
    command: Judgement | None = None

    @property
    def call(self) -> str:
        """Id of the action."""
        return self.action.id

    @property
    def is_harness(self) -> bool:
        """Whether the harness, or a person through it, asked for it, and no model did."""
        return self.action.id.startswith("harness-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """refusal: why the action must not run now, "" if it may; note: appended to the observation for the model

    question: what a person has to decide first, "" if nothing; hint: advice to the model where nobody can be asked
    """

    refusal: str = ""
    note: str = ""
    question: str = ""
    hint: str = ""


class Guard(Protocol):
    """Checks an action against the actions logged so far."""

    async def check_action(self, begun: BegunAction) -> Advice:
        """Return advice on an action that has just been logged."""
        ...
