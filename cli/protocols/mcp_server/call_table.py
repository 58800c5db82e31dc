"""The calls of a server that are at work: bounded in number, and found again by clients that answer a question."""

from __future__ import annotations

import asyncio

from cli.protocols.mcp_server.open_call import AskedForm, OpenCall
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

MOST_CALLS = 32
"""Calls at work at the same time, with those that wait for an answer."""

ANSWER_SECONDS = 600.0
"""Time for an answer; after that the question counts as declined and the call is stopped."""


@dataclass(slots=True)
class _Suspended:
    """A call whose client was told to call again. asked: the question it waits with"""

    call: OpenCall
    asked: AskedForm
    alarm: asyncio.TimerHandle


class CallTable:
    """The calls at work."""

    def __init__(self) -> None:
        self._open: set[OpenCall] = set()
        self._suspended: dict[str, _Suspended] = {}
        self._ends: set[asyncio.Task[None]] = set()

    def add(self, call: OpenCall) -> None:
        """Add a new call. Raises UserError if too many are at work."""
        if len(self._open) >= MOST_CALLS:
            raise UserError(Fault.USAGE, f"{MOST_CALLS} calls are at work", "Wait for one of them.")
        self._open.add(call)

    def remove(self, call: OpenCall) -> None:
        """Remove a call that has ended."""
        self._open.discard(call)

    def suspend(self, call: OpenCall, asked: AskedForm) -> None:
        """Keep a call until its client calls again with the answer."""
        alarm = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._expire, call.token)
        self._suspended[call.token] = _Suspended(call, asked, alarm)

    def resume(self, token: str) -> tuple[OpenCall, AskedForm]:
        """Take back a suspended call, once. Raises UserError if there is none."""
        found = self._suspended.pop(token, None)
        if found is None:
            raise UserError(Fault.USAGE, "no call waits for this answer", "Call the tool anew.")
        found.alarm.cancel()
        return found.call, found.asked

    async def close(self) -> None:
        """End all calls: their logs are complete."""
        for each in self._suspended.values():
            each.alarm.cancel()
        self._suspended.clear()
        if self._open:
            await asyncio.wait([asyncio.ensure_future(each.end()) for each in self._open])
        self._open.clear()

    def _expire(self, token: str) -> None:
        found = self._suspended.pop(token, None)
        if found is None:
            return
        found.asked.set_answer(None)
        task = asyncio.ensure_future(self._end_call(found.call))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    async def _end_call(self, call: OpenCall) -> None:
        await call.end()
        self.remove(call)
