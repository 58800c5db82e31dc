"""A model that says one thing: for a session in which only the harness works, such as on changes put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agent.children.child import Child
from agent.model.protocol import Delta, Model, Reply, Request

TOLD = "The changes of two attempts, put together."


class FixedReply:
    """Answers without asking anybody. Implements `Model`."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.name = inner.name
        self.window = inner.window

    def __getattr__(self, name: str) -> Any:
        """Return what else the model in its place offers, such as its price."""
        return getattr(self._inner, name)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        yield Reply(text=TOLD)

    async def close(self) -> None:
        """See `Model.close`."""
        await self._inner.close()


def answer_without_model(child: Child) -> None:
    """Let a child end at once, so that the harness judges the files that it began with."""
    child.runtime.loop.model = FixedReply(child.runtime.loop.model)
