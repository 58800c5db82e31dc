"""The agent loop: ask the model and run its actions until it is done, a limit is reached, or the user interrupts.

ReAct (Yao et al. 2022, arXiv 2210.03629): reasoning and actions alternate, each observation feeds the next
step. Nothing here names a tool, a model or a view.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from agent.budget.limits import Tally
from agent.budget.purse import Purse
from agent.events import Signal, Steer
from agent.model.protocol import Model, Reply
from agent.monitor.answers import Retry, StopTurn, TellModel, TurnEnd
from agent.session.log import Session
from agent.turn.late_parts import preload_while_waiting
from agent.turn.reply.reply_stream import ReplyStream
from sandbox.deferred import find_built
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation

if TYPE_CHECKING:
    from agent.context.compression.compressor import Compressor
    from agent.monitor.monitors import Monitors
    from tools.core.gateway import Gateway

_SOON = 5.0
"""Seconds within which two interrupts are one wish."""


class HarnessText(str):
    """Steering text of the harness: it uses the same inbox, but is not the user's."""

    __slots__ = ()


@dataclass(slots=True, kw_only=True)
class Loop:
    """One session's loop. `inbox` holds steering text.

    compressor: the messages to send, kept within the model's window
    replies: requests a reply and logs it
    purse: counts what the turn uses, against its limits
    prompt: of the turn, "" for one that goes on
    monitors: decide before each step and request, and after each reply or failed request, how the turn goes on

    Progress is reported through `Session.subscribe`, never printed.
    """

    session: Session
    compressor: Compressor
    model: Model
    gateway: Gateway
    replies: ReplyStream
    monitors: Monitors
    purse: Purse = field(default_factory=Purse)
    inbox: deque[str] = field(default_factory=deque)
    prompt: str = ""
    _step: asyncio.Task[TurnEnd | None] | None = None
    _stop: bool = False
    _acts: bool = False
    _interrupts: int = 0
    _interrupted: float = 0.0

    async def run(self) -> TurnEnd:
        """Take steps until the turn is over. Raises UserError when the model or the disk fails."""
        try:
            return await self._run_steps()
        finally:
            self._stop = False
            self._interrupts = 0

    async def _run_steps(self) -> TurnEnd:
        while True:
            if self._stop:
                return TurnEnd(reason="interrupted", detail="stopped by the user")
            if isinstance(answer := self.monitors.before_step(self), StopTurn):
                return answer.end
            self._deliver_inbox()
            self._acts = False
            self._step = asyncio.ensure_future(self._run_step())
            alarm = self.purse.start_alarm(self._step.cancel)
            try:
                end = await self._step
                if time.monotonic() - self._interrupted > _SOON:
                    self._interrupts = 0
            except asyncio.CancelledError:
                if not self._step.cancelled() or _is_externally_cancelled():
                    raise
                if reached := self.purse.find_timeout_reason():
                    return TurnEnd(reason="limit", detail=reached)
                self.session.append(Signal(name="interrupt", detail="the user stopped this step"))
                if not self._acts and not self.inbox:
                    self._stop = True  # only an answer was stopped: asking for it again is the user's to do
                elif not self._stop:
                    self.inbox.appendleft(
                        HarnessText("I stopped that step. Do not repeat it; go on with what I asked.")
                    )
                end = None
            finally:
                alarm.cancel()
                self._step = None
                await self.session.sync()
            if end is not None and not (self.inbox and end.reason != "limit"):
                return end

    @property
    def tally(self) -> Tally:
        """Usage of the turn so far."""
        return self.purse.tally

    @property
    def is_stepping(self) -> bool:
        """Whether a step is running (and not a check of the harness between steps)."""
        return self._step is not None

    @property
    def is_acting(self) -> bool:
        """Whether actions of a reply are running, so that an interrupt stops them and not the turn."""
        return self.is_stepping and self._acts

    def interrupt(self) -> None:
        """Cancel the running step: its actions, or the reply and with it the turn; a second call stops the turn.

        Soon after the first one, the second stops it though another step runs by then: steps can be short.
        """
        self._interrupts += 1
        self._interrupted = time.monotonic()
        if self._interrupts > 1:
            self.stop()
        elif self._step is not None and not self._step.cancel():
            self._stop = True  # it has just ended: without this the signal would have stopped nothing

    def stop(self) -> None:
        """End the turn as soon as the running step is cancelled."""
        self._stop = True
        if self._step is not None:
            self._step.cancel()

    def _deliver_inbox(self) -> None:
        while self.inbox:
            text = self.inbox.popleft()
            self.session.append(
                Steer(text=str(text), by="harness" if isinstance(text, HarnessText) else "person")
            )

    async def _run_step(self) -> TurnEnd | None:
        """Run one request and its actions; None when the turn continues."""
        if (gateway := find_built(self.gateway)) is not None:
            await gateway.tracking.settle()
        notices = await self.monitors.before_request()
        if isinstance(notices, StopTurn):
            return notices.end
        for text in notices:
            self.session.append(Steer(text=text, by="harness"))
        async for event in self.compressor.compact_if_due():
            await self.monitors.before_compaction(event)
            self.session.append(event)
        with preload_while_waiting(self.prompt):
            reply = await self._request_reply()
        if not isinstance(reply, Reply):
            return reply
        answer = self.monitors.after_reply(reply)
        if isinstance(answer, StopTurn):
            return answer.end
        self._acts = bool(reply.actions)
        observations = await self.gateway.run(reply.actions) if reply.actions else []
        if isinstance(answer, TellModel):
            self._queue_message(answer)
        if reply.actions:
            return self._find_end(reply, observations)
        return None if isinstance(answer, TellModel) else TurnEnd(reason="answer", text=reply.text)

    async def _request_reply(self) -> Reply | TurnEnd | None:
        """Return the reply, the end of the turn, or None if the model is asked again in another step."""
        while True:
            try:
                return await self.replies.request_reply(self.model)
            except UserError as error:
                answer = await self.monitors.after_failure(self, error)
                if isinstance(answer, TellModel):
                    self._queue_message(answer)
                    return None
                if isinstance(answer, StopTurn):
                    return answer.end
                if not isinstance(answer, Retry):
                    raise

    def _queue_message(self, answer: TellModel) -> None:
        if answer.note:
            self.session.append(Signal(name="model", detail=answer.note))
        self.inbox.appendleft(HarnessText(answer.text))

    def _find_end(self, reply: Reply, observations: Sequence[Observation]) -> TurnEnd | None:
        """Return how a tool ended the turn, None if none did or another action of the batch failed."""
        for action, observation in zip(reply.actions, observations, strict=True):
            if self.gateway.toolbox.ends_turn(action, observation):
                if any(each.failed for each in observations):
                    self.inbox.appendleft(HarnessText(_UNSEEN))
                    return None
                return TurnEnd(reason="ended", text=str(observation.data.get("summary", reply.text)))
        return None


T = TypeVar("T")


async def run_in_time(work: Coroutine[Any, Any, T], purse: Purse) -> T | TurnEnd:
    """Run work of the turn outside the loop; return its result, or the turn's end when the time is over first."""
    task = asyncio.current_task()
    assert task is not None
    has_rung = False

    def ring() -> None:
        nonlocal has_rung
        has_rung = True
        task.cancel()

    alarm = purse.start_alarm(ring)
    try:
        return await work
    except asyncio.CancelledError:
        if not has_rung or task.uncancel():
            raise
        return TurnEnd(reason="limit", detail=purse.find_timeout_reason())
    finally:
        alarm.cancel()


_UNSEEN = "The turn has not ended: an action asked for beside that one failed. Look at what it says first."
"""To a model that ended the turn in the same batch: it wrote its summary before it could see the failure."""


def _is_externally_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
