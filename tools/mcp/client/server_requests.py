"""Requests of a server to the client, and its progress: answered or shown while its own requests are at work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp import MCPError, UrlElicitationRequiredError
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ListRootsResult, Root
from pydantic import FileUrl

from tools.core.surroundings import Surroundings
from tools.mcp.questions import Asker, ask_form, ask_to_open
from tools.mcp.time_limit import TimeLimit

MOST_ADDRESSES = 4
"""Addresses that one call may need opened."""


MOST_QUESTIONS = 10
"""Questions of a server while a call is at work: more are no help to anybody."""


class ServerRequests:
    """Answers to one server. ask: returns who can be asked, None for nobody"""

    def __init__(self, at: Surroundings, name: str, ask: Callable[[], Asker | None]) -> None:
        self._limits: set[TimeLimit] = set()
        self._open: set[asyncio.Task[ElicitResult]] = set()
        self._asked = 0
        self._at = at
        self._name = name
        self._ask = ask

    def begin_request(self, limit: TimeLimit) -> None:
        """Note that one of our requests is at work: only then a server may ask."""
        if not self._limits:
            self._asked = 0
        self._limits.add(limit)

    def end_request(self, limit: TimeLimit) -> None:
        """Note that a request has ended; with the last one its questions end.

        Left open, they would take the person's next prompt for their answer.
        """
        self._limits.discard(limit)
        if not self._limits:
            for each in self._open:
                each.cancel()

    async def open_addresses(self, error: MCPError) -> bool:
        """Show the addresses that a call needs opened first; return whether the person has opened all."""
        asked = UrlElicitationRequiredError.from_error(error.error).elicitations
        for each in asked[:MOST_ADDRESSES]:
            if (await self.ask_person(each)).action != "accept":
                return False
        return 0 < len(asked) <= MOST_ADDRESSES

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        """Name the workspace, the only root."""
        root = self._at.root
        return ListRootsResult(roots=[Root(uri=FileUrl(root.as_uri()), name=root.name)])

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return await self.ask_person(params)

    async def ask_person(self, params: ElicitRequestParams) -> ElicitResult:
        """Ask the person; decline where nobody is there, nothing is at work, or they were asked too often."""
        ask = self._ask()
        self._asked += 1
        if ask is None or not self._limits or self._asked > MOST_QUESTIONS:
            return ElicitResult(action="decline")
        asking = asyncio.create_task(self._put_question(ask, params))
        self._open.add(asking)
        try:
            await asyncio.wait([asking])
        finally:
            self._open.discard(asking)
            asking.cancel()
        return ElicitResult(action="cancel") if asking.cancelled() else asking.result()

    async def _put_question(self, ask: Asker, params: ElicitRequestParams) -> ElicitResult:
        for each in self._limits:
            each.pause()
        try:
            if isinstance(params, ElicitRequestFormParams):
                content = await ask_form(ask, self._name, params.message, params.requested_schema)
                return ElicitResult(action="decline" if content is None else "accept", content=content)
            is_opened = await ask_to_open(ask.ask, self._name, params.message, params.url)
            return ElicitResult(action="accept" if is_opened else "decline")
        finally:
            for each in self._limits:
                each.resume()

    async def show_progress(self, progress: float, total: float | None, message: str | None) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        text = " ".join((message or "")[:200].split())
        self._at.progress(f"{text} ({share})" if text else share)
