"""A model that says one thing: for a session in which only the harness works, or which has another one's reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent.model.protocol import Delta, Model, Reply, Request, Usage


class FixedReply:
    """Answers without asking anybody, at no cost. Implements `Model`."""

    def __init__(self, inner: Model, text: str) -> None:
        self._inner = inner
        self._text = text
        self.name = inner.name
        self.window = inner.window

    def __getattr__(self, name: str) -> Any:
        """Return what else the model in its place offers."""
        return getattr(self._inner, name)

    def price(self, usage: Usage) -> float:
        """Return the US dollars of a call, in place of the inner model's."""
        return 0.0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        yield Reply(text=self._text, usage=Usage(cost=0.0))

    async def close(self) -> None:
        """See `Model.close`."""
        await self._inner.close()
