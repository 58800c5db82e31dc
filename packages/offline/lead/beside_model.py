"""A small model while the engine searches beside it: what the engine is sure of comes before a reply of the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from agent.model.protocol import Delta, Model, Reply, Request, Usage, compute_price
from packages.offline.lead.engine_search import EngineSearch


class ModelBesideEngine:
    """Another model, whose reply is given up once the engine is sure, or where it takes too long. Implements `Model`.

    Before a reply with actions counts, the engine has ended: it reads the files that they may change.
    engine: its search; seconds: that the next reply may take
    """

    def __init__(self, model: Model, engine: EngineSearch, seconds: Callable[[], float]) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._engine = engine
        self._seconds = seconds

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        end = asyncio.get_running_loop().time() + self._seconds()
        found = asyncio.ensure_future(self._engine.wait_until_found())
        try:
            async with aclosing(self.inner.stream(request)) as stream:  # type: ignore[type-var]
                while True:
                    coming = asyncio.ensure_future(_get_next(stream))
                    try:
                        left = max(0.0, end - asyncio.get_running_loop().time())
                        await asyncio.wait({coming, found}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                        if not coming.done() or found.done():
                            yield Reply(text="", stop="length")
                            return
                        delta = coming.result()
                    finally:
                        await _cancel(coming)
                    if isinstance(delta, Reply) and delta.actions:
                        await self._engine.wait(self._seconds())
                    if self._engine.has_found:
                        delta = Reply(text="", stop="length")
                    yield delta
                    if isinstance(delta, Reply):
                        return
        finally:
            await _cancel(found)

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)


async def _get_next(stream: AsyncIterator[Delta]) -> Delta:
    return await anext(stream)


async def _cancel(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    await asyncio.wait({task})
