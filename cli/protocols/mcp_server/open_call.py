"""A tool call at work: it reports progress and asks questions, whichever request of the client it answers at the time.

The work runs in a task of its own. A client of an older revision answers questions over the connection while its
request waits; one of revision 2026-07-28 gets an interim result for each question, and calls again with the answer.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.lazy_dataclass import dataclass

MOST_UNSENT = 256
"""Lines of progress that wait for the client; later ones are dropped, since a newer one tells more."""

END_SECONDS = 20.0
"""Time in which a call ends by itself once it is stopped; its task is cancelled after that."""


@dataclass(slots=True, kw_only=True)
class AskedForm:
    """A question to the client's user, as a form. schema: of its fields

    answer: its fields as filled in, None if the user gave no answer
    """

    message: str
    schema: Mapping[str, Any]
    answer: asyncio.Future[Mapping[str, Any] | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def set_answer(self, content: Mapping[str, Any] | None) -> None:
        """Take the answer, unless there is one already."""
        if not self.answer.done():
            self.answer.set_result(content)


class OpenCall:
    """A call of a tool. can_ask: the client shows forms to its user; stop: ends the work so that it can be resumed"""

    def __init__(self, *, can_ask: bool) -> None:
        self.token = secrets.token_urlsafe(24)
        self.can_ask = can_ask
        self.stop: Callable[[], None] | None = None
        self.reported = 0
        self.began = time.monotonic()
        self._items: asyncio.Queue[str | AskedForm | None] = asyncio.Queue()
        self._task: asyncio.Task[ToolResult] | None = None

    def start(self, work: Awaitable[ToolResult]) -> None:
        """Start the work."""
        self._task = asyncio.ensure_future(self._run(work))

    def report(self, line: str) -> None:
        """Report progress in one line."""
        if self._items.qsize() < MOST_UNSENT:
            self._items.put_nowait(line)

    async def ask(self, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Ask the client's user; return the filled fields, None without an answer."""
        asked = AskedForm(message=message, schema=schema)
        self._items.put_nowait(asked)
        return await asked.answer

    async def wait_for_item(self) -> str | AskedForm | None:
        """Return the next line of progress or question; None once the work has ended."""
        return await self._items.get()

    async def get_result(self) -> ToolResult:
        """Return the result of work that has ended. Raises what it raised."""
        assert self._task is not None
        return await self._task

    async def end(self) -> None:
        """Stop the work, and wait until it has ended."""
        task = self._task
        if task is None or task.done():
            return
        if self.stop is not None:
            self.stop()
        else:
            task.cancel()
        await asyncio.wait([task], timeout=END_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # nobody waits for its result

    async def _run(self, work: Awaitable[ToolResult]) -> ToolResult:
        try:
            return await work
        finally:
            self._items.put_nowait(None)
