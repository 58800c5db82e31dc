"""Base class of all monitors: hooks over a session that answer "go on" unless a subclass overrides them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from agent.budget.limits import Tally
from agent.context.ledger.session_facts import Facts
from agent.events import Compaction, Event
from agent.model.protocol import Model, Reply
from agent.monitor.answers import (
    GO_ON,
    ActionAnswer,
    FailureAnswer,
    ReplyAnswer,
    RequestAnswer,
    StepAnswer,
)
from agent.session.branch_history import History
from sandbox.errors import UserError

if TYPE_CHECKING:
    from agent.context.compression.compressor import Compressor
    from agent.session.log import Session
    from tools.core.action_guard import BegunAction


class Turn(Protocol):
    """What a monitor sees of a running turn: the loop."""

    @property
    def session(self) -> Session: ...
    @property
    def compressor(self) -> Compressor: ...
    @property
    def model(self) -> Model: ...
    @property
    def tally(self) -> Tally: ...


class Monitor:
    """Follows a session and answers at each of its points; subclasses override the hooks that they need.

    An event costs O(1), and the state is bounded. is_security: while it fails, actions are refused
    """

    is_security: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Its name in reports."""
        return type(self).__name__

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the state of a resumed session. history: its events, read lazily; facts: computed from them"""

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged."""

    def before_action(self, begun: BegunAction) -> ActionAnswer | Awaitable[ActionAnswer]:
        """Decide on an action that the policy allows, that is logged as begun, and that has not run."""
        return GO_ON

    def before_request(self) -> Sequence[RequestAnswer] | Awaitable[Sequence[RequestAnswer]]:
        """Return what there is to say before the next request; () to go on."""
        return ()

    async def before_compaction(self, event: Compaction) -> None:
        """Prepare for a compaction that has been decided on, and is not logged."""

    def before_step(self, turn: Turn) -> StepAnswer:
        """Decide whether the next step is taken."""
        return GO_ON

    async def after_failure(self, turn: Turn, error: UserError) -> FailureAnswer:
        """Decide how to go on after a failed request; "go on" raises the error."""
        return GO_ON

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        """Decide how to go on after a reply; a text is delivered after the reply's actions."""
        return GO_ON
