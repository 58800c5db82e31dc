"""A child session at the far end of a channel of lines: the parent's side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from agent.children.executor import CRASHED, ChildOrder
from agent.children.process import wire
from agent.events import End, Event, UsageRecord, parse_event
from agent.exit_codes import Exit
from agent.session.received_sessions import is_session_id
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect

PATIENCE = 10.0
"""Seconds that a child gets to end its step and close its log."""

START_PATIENCE = 120.0
"""Seconds for a process to start: one takes a second, on a machine that is busy with others ten."""

MOST_QUESTIONS = 64
"""Questions of one child that wait at the same time: its actions are asked about one by one or in a small batch."""

_BURST = 64
"""Lines that are read before others of this process get a turn."""


class Channel(Protocol):
    """Lines to and from another process."""

    async def read_line(self) -> bytes:
        """Return the next line, b"" at the end. Raises ValueError for one longer than `wire.LONGEST`."""
        ...

    def write(self, line: bytes) -> None:
        """Send a line without waiting; a far side that does not read is ended."""
        ...

    async def close(self) -> str:
        """End the far side, whatever it does; return how it ended, as a clause."""
        ...


class LineExecution:
    """A child session that is reached by lines. Implements `Execution`.

    The far side is bounded, not trusted: what it sends that is no event or message of ours ends it.
    """

    def __init__(self, channel: Channel, order: ChildOrder) -> None:
        self.runtime = None
        self.session = ""
        self._channel = channel
        self._order = order
        self._own_call = order.purse.open_child()
        self._other_calls = order.purse.open_child()
        self._questions: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Future[End] | None = None
        self._last_end: End | None = None
        self._lost = ""
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, channel: Channel, order: ChildOrder) -> LineExecution:
        """Send the order, and wait for the session's id. Raises UserError."""
        execution = cls(channel, order)
        try:
            await execution._start()
        except BaseException:  # on any exception the far side is ended, then the exception is raised again
            await execution._release()
            raise
        return execution

    async def run_turn(self, prompt: str | None) -> End:
        if self._lost:
            return self._create_crash_event()
        self._ending = asyncio.get_running_loop().create_future()
        self._last_end = None
        self._channel.write(wire.encode_message("turn", prompt=prompt))
        try:
            return await self._ending
        finally:
            self._ending = None

    def steer(self, text: str) -> None:
        self._channel.write(wire.encode_message("steer", text=text))

    def stop(self) -> None:
        self._channel.write(wire.encode_message("stop"))

    async def close(self) -> None:
        try:
            if self._reading is not None and not self._lost:
                self._channel.write(wire.encode_message("close"))
                await asyncio.wait([self._reading], timeout=PATIENCE)
        finally:
            await self._release()

    async def _start(self) -> None:
        limited = self._order.purse.has_cost_limit
        self._channel.write(
            wire.encode_message("start", **wire.encode_order(self._order, has_cost_limit=limited))
        )
        try:
            async with asyncio.timeout(START_PATIENCE):
                answer = wire.decode_message(await self._channel.read_line()) or {}
        except ValueError as error:
            answer = {"problem": str(error)}
        except TimeoutError:
            answer = {"problem": f"no answer in {START_PATIENCE:.0f} s"}
        if answer.get("message") == "refused":
            raise _read_refusal(answer)
        session = answer.get("session")
        if answer.get("message") != "ready" or not isinstance(session, str) or not is_session_id(session):
            told = str(answer.get("problem", "")) or await self._channel.close() or "it sent no session"
            raise UserError(Fault.CONFIGURATION, f"the child session's process did not start: {told}")
        self.session = session
        self._reading = asyncio.create_task(self._read_lines())

    async def _read_lines(self) -> None:
        """Handle lines until the end of the session; then a turn that runs has crashed."""
        problem, count = "failed", 0
        try:
            while line := await self._channel.read_line():
                self._handle_line(line)
                count += 1
                if count % _BURST == 0:
                    await asyncio.sleep(0)
            problem = ""
        except ValueError as error:
            problem = f"sent what is no event: {str(error)[:200]}"
        finally:
            told = await self._channel.close()
            self._lost = problem or told
            self._count_calls_under_way()
            if self._ending is not None and not self._ending.done():
                self._ending.set_result(self._create_crash_event())

    def _handle_line(self, line: bytes) -> None:
        """Handle an event or a message. Raises ValueError."""
        message = wire.decode_message(line)
        if message is None:
            event = parse_event(line)
            if isinstance(event, End):
                self._last_end = event
            self._order.on_event(self.session, event)
            return
        match message["message"]:
            case "reserve":
                self._grant(message)
            case "spend":
                self._count_call(message)
            case "promise":
                self._own_call.release()
                self._other_calls.hold(wire.decode_amount(message.get("promised")))
            case "question":
                self._ask(message)
            case "ended" if self._ending is not None and self._last_end is not None:
                if not self._ending.done():
                    self._ending.set_result(self._last_end)
            case other:
                raise ValueError(f"a message {other[:40]!r} that is not expected")

    def _grant(self, message: Mapping[str, Any]) -> None:
        """Reserve the estimate of a call, or refuse it: all purses above pay."""
        call = None if message.get("call") is None else wire.decode_amount(message["call"])
        self._own_call.release()
        self._other_calls.hold(wire.decode_amount(message.get("others")))
        self._own_call.tally.next_cost = wire.decode_cost(message.get("next_cost"))
        reason = self._own_call.find_stop_reason()
        left = self._own_call.compute_dollars_left()
        if call is not None and not reason:
            dollars = max(call.dollars, self._own_call.estimate_next_cost())
            self._own_call.hold(replace(call, dollars=dollars))
        self._channel.write(wire.encode_message("grant", reason=reason, left=left))

    def _count_call(self, message: Mapping[str, Any]) -> None:
        usage, model = wire.decode_usage(message.get("usage")), str(message.get("model", ""))
        self._own_call.release()
        self._other_calls.hold(wire.decode_amount(message.get("promised")))
        if message.get("step") is not True:
            self._order.purse.add_usage(usage, model)
        elif message.get("own") is True:
            self._order.purse.add_step(usage, model)
        else:
            self._own_call.add_step(usage, model)

    def _count_calls_under_way(self) -> None:
        """Count the estimates of calls whose use will not be reported any more: they may have been billed."""
        held = self._own_call.held + self._other_calls.held
        self._own_call.release()
        self._other_calls.release()
        if held.dollars or held.tokens:
            self._order.purse.add_usage(UsageRecord(input=held.tokens, cost=held.dollars or None))

    def _ask(self, message: Mapping[str, Any]) -> None:
        """Ask the parent's user. Raises ValueError for what is no question."""
        from pydantic import TypeAdapter

        if len(self._questions) >= MOST_QUESTIONS:
            raise ValueError(f"more than {MOST_QUESTIONS} questions at once")
        effect: Effect = TypeAdapter(Effect).validate_python(message.get("effect"))
        question: Decision = TypeAdapter(Decision).validate_python(message.get("question"))
        asking = asyncio.create_task(
            self._answer(message.get("id"), str(message.get("tool", "")), effect, question)
        )
        self._questions.add(asking)
        asking.add_done_callback(self._questions.discard)

    async def _answer(self, number: object, tool: str, effect: Effect, question: Decision) -> None:
        approver = self._order.request.approver
        answer = Decision(verdict="deny", reason=f"{question.reason}, and nobody can be asked")
        if approver is not None:
            answer = await approver.ask(tool, effect, question)
        self._channel.write(
            wire.encode_message("decision", id=number, verdict=answer.verdict, reason=answer.reason)
        )

    def _create_crash_event(self) -> End:
        summary = f"the child session's process {self._lost}; what it began last may have taken effect"
        event: Event = End(outcome=CRASHED, exit_code=Exit.INTERNAL, summary=summary)
        assert isinstance(event, End)
        return event

    async def _release(self) -> None:
        for each in self._questions:
            each.cancel()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._channel.close()
        if self._ending is not None and not self._ending.done():
            self._lost = self._lost or "was ended"
            self._ending.set_result(self._create_crash_event())
        self._own_call.close()
        self._other_calls.close()


def _read_refusal(answer: Mapping[str, Any]) -> UserError:
    """Return the error with which the session was refused."""
    try:
        fault = Fault(str(answer.get("fault")))
    except ValueError:
        fault = Fault.CONFIGURATION
    return UserError(fault, str(answer.get("text", ""))[:2000], str(answer.get("hint", ""))[:2000])
