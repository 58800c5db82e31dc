"""The agent loop: ask the model and run its actions until it is done, a limit is reached, or the user interrupts.

ReAct (Yao et al. 2022, arXiv 2210.03629): reasoning and actions alternate, each observation feeds the next
step. Nothing here names a tool, a model or a view.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from agent.context.compression.compressor import Compressor
from agent.context.projection.message_slots import count_bytes
from agent.context.projection.projection import Projection
from agent.events import AskedAction, MessageEvent, Signal, Steer
from agent.model.protocol import ContextOverflow, CutOff, Delta, Model, ReasoningDelta, Reply, TextDelta
from agent.session.log import Session
from agent.session.request_record import RequestRecorder
from agent.turn.budget import CostBudget, describe_remaining_limits, estimate_partial_usage
from agent.turn.cooperative_yield import YieldTimer
from agent.turn.limits import Limit, Tally, find_stop_reason, find_timeout_reason, seconds_left
from agent.turn.reply_recovery import ActionIds, Nudge, ReplyRecovery
from agent.turn.side_calls import convert_usage
from tools.core.action import Action
from tools.core.gateway import Gateway, tool_ends_turn


class HarnessText(str):
    """Steering text of the harness: it uses the same inbox, but is not the user's."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """End of the loop. reason: "answer", "ended" (a tool ended it), "limit", "interrupted", "refusal" or "empty"."""

    reason: str
    text: str = ""
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Loop:
    """One session's loop. `inbox` holds steering text; `on_delta` receives text as it streams.

    compressor: the messages to send, kept within the model's window
    notices: called before each request for notes to the model (that files changed since it read them)

    Progress is reported through `Session.subscribe`, never printed.
    """

    session: Session
    compressor: Compressor
    model: Model
    gateway: Gateway
    limits: Sequence[Limit] = ()
    on_delta: Callable[[Delta], None] = lambda delta: None
    notices: Callable[[], Awaitable[Sequence[str]]] | None = None
    inbox: deque[str] = field(default_factory=deque)
    tally: Tally = field(default_factory=Tally)
    _upsets: ReplyRecovery = field(default_factory=ReplyRecovery)
    _ids: ActionIds = field(default_factory=ActionIds)
    _recorder: RequestRecorder = field(default_factory=RequestRecorder)
    _step: asyncio.Task[TurnEnd | None] | None = None
    _stop: bool = False
    _interrupts: int = 0

    def __post_init__(self) -> None:
        self.session.subscribe(self._recorder.handle_event)

    @property
    def cost_budget(self) -> CostBudget:
        return CostBudget(self.limits, lambda: self.model, lambda: self.compressor.total_tokens)

    @property
    def projection(self) -> Projection:
        return self.compressor.projection

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
            self.cost_budget.forecast_next_call(self.tally)
            if reached := find_stop_reason(self.limits, self.tally):
                return TurnEnd(reason="limit", detail=reached)
            self._deliver_inbox()
            self._step = asyncio.ensure_future(self._run_step())
            alarm = asyncio.get_running_loop().call_later(
                seconds_left(self.limits, self.tally), self._step.cancel
            )
            try:
                end = await self._step
                self._interrupts = 0
            except asyncio.CancelledError:
                if not self._step.cancelled() or _is_externally_cancelled():
                    raise
                if reached := find_timeout_reason(self.limits, self.tally):
                    return TurnEnd(reason="limit", detail=reached)
                self.session.append(Signal(name="interrupt", detail="the user stopped this step"))
                if not self._stop:
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
    def is_stepping(self) -> bool:
        """Whether a step is running (and not a check of the harness between steps)."""
        return self._step is not None

    def interrupt(self) -> None:
        """Cancel the running step; a second call before a step completes stops the turn."""
        self._interrupts += 1
        if self._interrupts > 1:
            self.stop()
        elif self._step is not None:
            self._step.cancel()

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
        for text in await self.notices() if self.notices else ():
            self.session.append(Steer(text=text, by="harness"))
        async for event in self.compressor.compact_if_due():
            self.session.append(event)
        try:
            reply = await self._ask_within_window()
        except CutOff as error:
            self._queue_nudge(self._upsets.handle_cut_off(error))
            return None
        again = self._upsets.track_reply(reply)
        if not reply.actions:
            return self._handle_answer(reply)
        observations = await self.gateway.run(reply.actions)
        if again is not None:
            self._queue_nudge(again)
        for action, observation in zip(reply.actions, observations, strict=True):
            if tool_ends_turn(self.gateway.toolbox, action, observation):
                if any(each.failed for each in observations):
                    self.inbox.appendleft(HarnessText(_UNSEEN))
                    return None
                return TurnEnd(reason="ended", text=str(observation.data.get("summary", reply.text)))
        return None

    def _handle_answer(self, reply: Reply) -> TurnEnd | None:
        """Return how a reply without actions ends the turn; None if the model is asked again."""
        if reply.stop == "refusal":
            return TurnEnd(reason="refusal", text=reply.text or "The model refused to answer.")
        if (nudge := self._upsets.check_answer(reply)) is not None:
            self._queue_nudge(nudge)
            return None
        if not reply.text.strip():
            return TurnEnd(reason="empty", text="The model gave no answer, asked again and again.")
        return TurnEnd(reason="answer", text=reply.text)

    def _queue_nudge(self, nudge: Nudge) -> None:
        self.session.append(Signal(name="model", detail=nudge.note))
        self.inbox.appendleft(HarnessText(nudge.text))

    async def _ask_within_window(self) -> Reply:
        """Request a reply; if the request is too long for the model, compact the past and retry."""
        try:
            return await self._request_reply()
        except ContextOverflow as error:
            # The model's limit overrides our estimate: assume that the present request overfills the window.
            before = self.projection.tokens
            async for event in self.compressor.compact_to_limit(self.compressor.total_tokens * 7 // 10):
                self.session.append(event)
            if self.projection.tokens >= before:
                raise
            self.session.append(Signal(name="model", detail=f"{error.message}; compressed the past"))
            return await self._request_reply()

    async def _request_reply(self) -> Reply:
        """Stream one reply into the log; text received before an interruption is logged as a partial message."""
        remaining, running = (
            describe_remaining_limits(self.limits, self.tally),
            list(self.compressor.running()),
        )
        request = self.projection.build_request(state=self.compressor.render_state(remaining, running))
        request = self.cost_budget.limit_output(request, self.tally)
        record = self._recorder.describe_request(request, left=remaining, running=running)
        started = time.monotonic()
        reply: Reply | None = None
        text: list[str] = []
        thought = 0  # bytes
        breath = YieldTimer()
        try:
            async with aclosing(self.model.stream(request)) as stream:  # type: ignore[type-var]
                async for delta in stream:
                    self.on_delta(delta)
                    if isinstance(delta, TextDelta):
                        text.append(delta.text)
                    elif isinstance(delta, Reply):
                        reply = delta
                    else:
                        assert isinstance(delta, ReasoningDelta)
                        thought += count_bytes(delta.text)
                    await breath.yield_if_due()
        except (asyncio.CancelledError, CutOff):
            came = "".join(text)
            said = self.projection.estimate_tokens(count_bytes(came) + thought)
            used = estimate_partial_usage(self.model, self.compressor.total_tokens, said, self.tally.last)
            usage = convert_usage(used, time.monotonic() - started)
            self.tally.add_usage(usage)
            name = self.model.name
            self.session.append(
                MessageEvent(text=came, partial=True, usage=usage, model=name, request=record)
            )
            raise
        assert reply is not None, "a model's stream ends with a Reply"
        reply = self._ids.ensure_unique_ids(reply, self.projection.messages)
        said = (
            count_bytes(reply.text)
            + count_bytes(reply.reasoning)
            + sum(count_bytes(each.raw) for each in reply.actions)
        )
        counted = self.cost_budget.complete_usage(
            reply.usage, self.projection.estimate_tokens(said), self.tally.last
        )
        usage = convert_usage(counted, time.monotonic() - started)
        self.tally.add_step(usage)
        self.tally.mark_unpriced(reply.model or self.model.name, usage)
        self.projection.calibrate_estimate(reply.usage.input)
        self.session.append(
            MessageEvent(
                text=reply.text,
                reasoning=reply.reasoning,
                actions=[_create_asked_action(action) for action in reply.actions],
                usage=usage,
                stop=reply.stop,
                model=reply.model or self.model.name,
                kept=[dict(part) for part in reply.kept],
                request=record,
            )
        )
        return reply


_UNSEEN = "The turn has not ended: an action asked for beside that one failed. Look at what it says first."
"""To a model that ended the turn in the same batch: it wrote its summary before it could see the failure."""


def _is_externally_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _create_asked_action(action: Action) -> AskedAction:
    return AskedAction(
        id=action.id,
        tool=action.tool,
        arguments=dict(action.arguments),
        raw=action.raw if action.problem else "",
        problem=action.problem,
    )
