"""One request and its streamed reply: sent, counted and logged, also when it is interrupted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.budget.cost_budget import CostBudget, describe_remaining_limits, estimate_partial_usage
from agent.budget.limits import Tally
from agent.context.compression.window_overflow import (
    TruncationWatch,
    compute_output_limit,
    describe_overflow,
    find_overflow,
    suspect_overflow,
)
from agent.context.profile.profiles import choose_profile
from agent.context.projection.message_slots import count_bytes
from agent.events import AskedAction, MessageEvent, Signal, UsageRecord
from agent.model.protocol import (
    ContextOverflow,
    CutOff,
    Delta,
    GarbledReply,
    LoopingReply,
    Model,
    Reply,
    Request,
    RequestRefused,
    RetryWait,
)
from agent.session.log import Session
from agent.session.request_record import RequestRecorder
from agent.turn.action_ids import ActionIds
from sandbox.deferred import build_now, defer
from sandbox.errors import Fault
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action

if TYPE_CHECKING:
    from agent.context.compression.compressor import Compressor
    from agent.model.cooperative_yield import YieldTimer
    from agent.turn.reply.received_reply import ReceivedReply

WARMER = 0.8
"""Temperature of the request after a reply that looped: the likeliest words lead into the loop again."""

MOST_PARTIAL = 1 << 18
"""Characters that are kept of a reply that was interrupted: an endpoint may have sent any number of them."""

COOLER = 0.2
"""Temperature after junk, which comes of unlikely words."""


@dataclass(slots=True, kw_only=True)
class ReplyStream:
    """Streams the replies of one session into its log. `on_delta` receives text as it arrives.

    answer_schema: that a provider makes the session's answers fit, where it can do so beside tools
    """

    session: Session
    compressor: Compressor
    budget: CostBudget
    on_delta: Callable[[Delta], None] = lambda delta: None
    answer_schema: Mapping[str, Any] | None = None
    _temperature: float | None = None
    _ids: ActionIds = field(default_factory=ActionIds)
    _truncation: TruncationWatch = field(default_factory=TruncationWatch)
    _recorder: RequestRecorder = field(default_factory=RequestRecorder)

    def __post_init__(self) -> None:
        self.session.subscribe(self._recorder.handle_event)

    async def request_reply(self, model: Model) -> Reply:
        """Stream one reply into the log; text received before an interruption is logged as a partial message."""
        purse, tally = self.budget.purse, self.budget.purse.tally
        request, record = self._build_request(model, tally)
        if error := find_overflow(self.compressor, model.name):
            raise error
        started = time.monotonic()
        received = defer(partial(_begin_reply, self._find_prompt()))
        try:
            await self._receive(model.stream(request), received)
        except (asyncio.CancelledError, CutOff) as ended:
            text = "".join(received.text)[:MOST_PARTIAL]
            if isinstance(ended, CutOff):
                ended.text = text
            if isinstance(ended, LoopingReply):
                self._temperature = COOLER if isinstance(ended, GarbledReply) else WARMER
            used = estimate_partial_usage(
                model, self.compressor.total_tokens, self._estimate_tokens(received.bytes), tally.last_usage
            )
            from agent.turn.side_calls import convert_usage

            usage = convert_usage(used, time.monotonic() - started, _count_wait(received, started))
            purse.release()
            purse.add_usage(usage)
            self.session.append(
                MessageEvent(text=text, partial=True, usage=usage, model=model.name, request=record)
            )
            raise
        except ContextOverflow as error:
            raise describe_overflow(self.compressor, error) from None
        except RequestRefused as error:
            raise suspect_overflow(self.compressor, error) from None
        self._temperature = None
        reply = received.reply
        assert reply is not None, "a model's stream ends with a Reply"
        reply = self._ids.ensure_unique_ids(reply, self.compressor.projection.messages)
        counted = self.budget.complete_usage(
            reply.usage, self._estimate_tokens(_count_reply_bytes(reply)), tally.last_usage
        )
        from agent.turn.side_calls import convert_usage

        usage = convert_usage(counted, time.monotonic() - started, _count_wait(received, started))
        purse.add_step(usage, reply.model or model.name)
        self._watch_prompt_tokens(model.name, reply.usage.input)
        self.session.append(_create_message_event(reply, reply.model or model.name, usage, record))
        return reply

    def _watch_prompt_tokens(self, model: str, counted: int) -> None:
        """Correct the estimates by the tokens that the server counted; notice a request that it has cut."""
        projection = self.compressor.projection
        window = self._truncation.find_window(projection.request_bytes, counted)
        if window is None:
            projection.calibrate_estimate(counted)
        elif window < self.compressor.find_window():
            self.compressor.window_limit = window
            detail = (
                f"{model} seems to read only the last {window:,} tokens of a request: earlier steps are compressed to"
                " fit; give the server a larger window (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)"
            )
            self.session.append(Signal(name="model", detail=detail))

    def _find_prompt(self) -> str:
        """Return the text of the user's last prompt."""
        slots = self.compressor.projection.slots
        return next((str(slot.message.text) for slot in reversed(slots) if slot.is_from_person), "")

    def _build_request(self, model: Model, tally: Tally) -> tuple[Request, dict[str, Any]]:
        """Return the request and its record for the log."""
        # A small model takes the limits, the last words that it reads, for the question, and answers them.
        is_small = choose_profile("auto", self.compressor.find_window(), model.name).name != "generic"
        remaining = "" if is_small else describe_remaining_limits(self.budget.purse.turn_limits, tally)
        running = list(self.compressor.list_running_commands())
        state = self.compressor.render_state(remaining, running)
        whole = self.compressor.projection.build_request(state=state)
        most = compute_output_limit(self.compressor.find_window())
        whole = replace(whole, max_output=most or whole.max_output, temperature=self._temperature)
        whole = replace(whole, schema=self.answer_schema)
        request = self.budget.limit_output(whole)
        return request, self._recorder.describe_request(request, left=remaining, running=running)

    async def _receive(self, deltas: AsyncIterator[Delta], received: ReceivedReply) -> None:
        yields: YieldTimer | None = None
        async with aclosing(deltas) as stream:  # type: ignore[type-var]
            async for delta in stream:
                if yields is None:
                    from agent.model.cooperative_yield import YieldTimer

                    received, yields = build_now(received), YieldTimer()
                self.on_delta(delta)
                if isinstance(delta, RetryWait):
                    continue
                received.add_delta(delta)
                if received.is_junk:
                    raise GarbledReply(Fault.MODEL_UNREACHABLE, "the reply turned into junk")
                if received.loops:
                    raise LoopingReply(Fault.MODEL_UNREACHABLE, "the reply repeated itself without end")
                await yields.yield_if_due()

    def _estimate_tokens(self, size: int) -> int:
        return self.compressor.projection.estimate_tokens(size)


def _count_wait(received: ReceivedReply, started: float) -> float | None:
    """Return the seconds until the first part of a reply, None for one that came as a whole."""
    return None if received.began is None else received.began - started


def _count_reply_bytes(reply: Reply) -> int:
    actions = sum(count_bytes(each.raw) for each in reply.actions)
    return count_bytes(reply.text) + count_bytes(reply.reasoning) + actions


def _create_message_event(
    reply: Reply, model: str, usage: UsageRecord, record: dict[str, Any]
) -> MessageEvent:
    return MessageEvent(
        text=reply.text,
        reasoning=reply.reasoning,
        actions=[_create_asked_action(action) for action in reply.actions],
        usage=usage,
        stop=reply.stop,
        model=model,
        kept=[dict(part) for part in reply.kept],
        request=record,
    )


def _create_asked_action(action: Action) -> AskedAction:
    return AskedAction(
        id=action.id,
        tool=action.tool,
        arguments=dict(action.arguments),
        raw=action.raw if action.problem else "",
        problem=action.problem,
    )


def _begin_reply(asked: str) -> ReceivedReply:
    from agent.turn.reply.received_reply import ReceivedReply

    return ReceivedReply(asked)
