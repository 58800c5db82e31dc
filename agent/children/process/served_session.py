"""A child session in this process, whose parent is at the far end of two descriptors."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.limits import build_limits
from agent.budget.purse import Amount, Purse
from agent.children.process import wire
from agent.events import Event, UsageRecord, render_event
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect

PATIENCE = 60.0
"""Seconds for an answer about the budget: the parent is alive, or its end closes the descriptor."""


class ParentLines:
    """Lines to and from the parent. A thread reads them: an answer about the budget is waited for amid a step."""

    def __init__(self, read_end: int, write_end: int, loop: asyncio.AbstractEventLoop) -> None:
        self.messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.grants: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._read_end, self._write_end = read_end, write_end
        self._loop = loop
        threading.Thread(target=self._read_lines, name="parent's lines", daemon=True).start()

    def send(self, line: bytes) -> None:
        """Send a line; waits while the parent does not read. Without a parent it is dropped: the session ends soon."""
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._write_end, view) :]
        except OSError:
            return

    def _read_lines(self) -> None:
        with open(self._read_end, "rb", closefd=False) as file:
            try:
                while line := file.readline(wire.LONGEST):
                    message = wire.decode_message(line)
                    if message is not None and message["message"] == "grant":
                        self.grants.put(message)
                    elif message is not None:
                        self._loop.call_soon_threadsafe(self.messages.put_nowait, message)
            except (OSError, ValueError, RuntimeError):  # closed, or not our parent: the end
                pass
        self.grants.put(None)
        try:
            self._loop.call_soon_threadsafe(self.messages.put_nowait, None)
        except RuntimeError:  # the loop is closed: the session has ended
            return


class ParentBank:
    """The parent's purse. Implements `Bank`."""

    def __init__(self, lines: ParentLines, *, has_cost_limit: bool) -> None:
        self.has_cost_limit = has_cost_limit
        self._lines = lines

    def reserve(
        self, call: Amount | None, others: Amount, next_cost: float | None
    ) -> tuple[str, float | None]:
        self._lines.send(
            wire.encode_message(
                "reserve",
                call=None if call is None else wire.encode_amount(call),
                others=wire.encode_amount(others),
                next_cost=next_cost,
            )
        )
        try:
            answer = self._lines.grants.get(timeout=PATIENCE)
        except Empty:
            answer = None
        if answer is None:
            return "the parent session does not answer", 0.0
        return answer["reason"], answer["left"]

    def spend(self, usage: UsageRecord, model: str, *, step: bool, own: bool, promised: Amount) -> None:
        self._lines.send(
            wire.encode_message(
                "spend",
                usage=vars(usage),
                model=model,
                step=step,
                own=own,
                promised=wire.encode_amount(promised),
            )
        )

    def promise(self, promised: Amount) -> None:
        self._lines.send(wire.encode_message("promise", promised=wire.encode_amount(promised)))


class ParentApprover:
    """Asks the parent's user. Implements `Approver`."""

    def __init__(self, lines: ParentLines) -> None:
        self._lines = lines
        self._waiting: dict[int, asyncio.Future[Decision]] = {}
        self._asked = 0

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """See `Approver.ask`."""
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        fields = {"id": number, "tool": tool, "effect": asdict(effect), "question": asdict(question)}
        self._lines.send(wire.encode_message("question", **fields))
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def answer(self, message: Mapping[str, Any]) -> None:
        """Pass on the answer to a question."""
        waiting = self._waiting.get(message["id"])
        if waiting is not None and not waiting.done():
            waiting.set_result(Decision(verdict=message["verdict"], reason=message["reason"]))


async def serve_session(read_end: int, write_end: int) -> None:
    """Run the session that the first line orders, until the parent closes it or is gone."""
    lines = ParentLines(read_end, write_end, asyncio.get_running_loop())
    order = await lines.messages.get()
    if order is None or order["message"] != "start":
        return
    approver = ParentApprover(lines)
    try:
        runtime = _open_session(order, lines, approver)
    except UserError as error:
        lines.send(wire.encode_message("refused", fault=error.fault, text=error.message, hint=error.hint))
        return
    gc.freeze()  # as in `cli.invocation`: the objects of the start are permanent
    gc.enable()
    lines.send(wire.encode_message("ready", session=runtime.session.id))
    runtime.session.subscribe(lambda event: _send_event(lines, event))
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, lines.messages.put_nowait, None)
    try:
        await _follow_parent(lines, approver, runtime)
    finally:
        await runtime.close()


async def _follow_parent(lines: ParentLines, approver: ParentApprover, runtime: Runtime) -> None:
    turn: asyncio.Task[None] | None = None
    while (message := await lines.messages.get()) is not None:
        match message["message"]:
            case "turn" if turn is None or turn.done():
                turn = asyncio.create_task(_run_turn(lines, runtime, message["prompt"]))
            case "steer":
                runtime.loop.inbox.append(message["text"])
            case "stop":
                runtime.stop()
            case "decision":
                approver.answer(message)
            case _:
                break
    if turn is not None and not turn.done():
        runtime.stop()
        await turn


async def _run_turn(lines: ParentLines, runtime: Runtime, prompt: str | None) -> None:
    await runtime.run_turn(prompt)
    lines.send(wire.encode_message("ended"))


def _send_event(lines: ParentLines, event: Event) -> None:
    lines.send(render_event(event))


def _open_session(order: Mapping[str, Any], lines: ParentLines, approver: ParentApprover) -> Runtime:
    """Open the session as ordered: this process reads no settings, so nothing can add to its rights."""
    settings = wire.decode_settings(order["settings"])
    purse = Purse(
        build_limits(settings.limits), bank=ParentBank(lines, has_cost_limit=order["has_cost_limit"])
    )
    request = wire.decode_request(order, settings, purse, approver)
    return assemble_runtime(settings, request, Home.decode(order["home"]))
