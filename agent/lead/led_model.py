"""A model while the harness leads: it is sent one question, and what it proposes becomes an action."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from agent.model.protocol import Delta, Model, Reply, Request, TextDelta, Usage, UserMessage, compute_price
from tools.core.action import Action


class LedModel:
    """Another model, asked without tools and history. Implements `Model`.

    question: text of the present question
    propose: returns the actions that a reply proposes, once what runs beside the model has ended
    warmth: temperature of the next request, None for the usual one
    """

    def __init__(
        self,
        model: Model,
        question: Callable[[], str],
        propose: Callable[[str], Awaitable[tuple[Action, ...]]],
        warmth: Callable[[], float | None],
    ) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._question = question
        self._propose = propose
        self._warmth = warmth

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        from agent.context.system_prompt import read_prompt

        sent = replace(
            request,
            system=read_prompt("lead.md"),
            shared=None,
            messages=[UserMessage(text=self._question())],
            tools=(),
            temperature=self._warmth(),
        )
        async for delta in self.inner.stream(sent):
            if isinstance(delta, Reply):
                actions = await self._propose(delta.text)
                yield replace(delta, actions=actions, stop="actions") if actions else delta
            elif isinstance(delta, TextDelta):
                yield delta

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)
