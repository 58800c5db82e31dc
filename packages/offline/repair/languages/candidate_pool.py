"""One pool of candidates from two sources: templates, which are ready at once, and fillings, which come one by one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator

from packages.offline.repair.languages.tree_candidates import Candidate


class CandidatePool:
    """Candidates for any number of takers: what has been filled in goes first, since its seconds are spent already."""

    def __init__(self, templates: Iterator[Candidate], fillings: AsyncIterator[Candidate] | None) -> None:
        self._templates = templates
        self._filled: deque[Candidate] = deque()
        self._changed = asyncio.Event()
        self._filling = asyncio.ensure_future(self._collect(fillings)) if fillings is not None else None

    def __aiter__(self) -> CandidatePool:
        return self

    async def __anext__(self) -> Candidate:
        while True:
            if self._filled:
                return self._filled.popleft()
            if (found := next(self._templates, None)) is not None:
                return found
            if self._filling is None or self._filling.done():
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        """Ask for no more fillings; wake who waits for them."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait({self._filling})
            if not self._filling.cancelled():
                self._filling.result()

    async def _collect(self, fillings: AsyncIterator[Candidate]) -> None:
        try:
            async for each in fillings:
                self._filled.append(each)
                self._changed.set()
        finally:
            asyncio.get_running_loop().call_soon(self._changed.set)
