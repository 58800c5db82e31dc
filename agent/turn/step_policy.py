"""Policies of a turn: objects that look at each step and answer continue, stop, inject or retry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.budget.limits import Tally
from agent.context.compression.compressor import Compressor
from agent.model.protocol import Reply
from agent.session.log import Session
from sandbox.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """End of the loop. reason: "answer", "ended" (a tool ended it), "limit", "interrupted", "refusal" or "empty"."""

    reason: str
    text: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Continue:
    """Nothing to object: a step is taken, an error is raised, a reply counts."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The turn is over."""

    end: TurnEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Inject:
    """Ask the model again, with a message. note: for the user; text: for the model"""

    note: str
    text: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The cause of a failure was removed: send the request of this step again."""


CONTINUE = Continue()


class Turn(Protocol):
    """What a policy sees of a running turn: the loop."""

    @property
    def session(self) -> Session: ...
    @property
    def compressor(self) -> Compressor: ...
    @property
    def tally(self) -> Tally: ...


class StepPolicy:
    """A policy that objects to nothing; subclasses override the hooks that they need."""

    def before_step(self, turn: Turn) -> Continue | Stop:
        """Decide whether the next step is taken."""
        return CONTINUE

    async def after_failure(self, turn: Turn, error: UserError) -> Continue | Inject | Retry:
        """Decide how to go on after a failed request; Continue raises the error."""
        return CONTINUE

    def after_reply(self, reply: Reply) -> Continue | Inject | Stop:
        """Decide how to go on after a reply; a message is delivered after the reply's actions."""
        return CONTINUE


class StepPolicies(StepPolicy):
    """Several policies as one: the first answer other than Continue counts."""

    def __init__(self, policies: Sequence[StepPolicy]) -> None:
        self._policies = policies

    def before_step(self, turn: Turn) -> Continue | Stop:
        for policy in self._policies:
            if (answer := policy.before_step(turn)) is not CONTINUE:
                return answer
        return CONTINUE

    async def after_failure(self, turn: Turn, error: UserError) -> Continue | Inject | Retry:
        for policy in self._policies:
            if (answer := await policy.after_failure(turn, error)) is not CONTINUE:
                return answer
        return CONTINUE

    def after_reply(self, reply: Reply) -> Continue | Inject | Stop:
        for policy in self._policies:
            if (answer := policy.after_reply(reply)) is not CONTINUE:
                return answer
        return CONTINUE
