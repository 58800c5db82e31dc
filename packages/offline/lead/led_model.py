"""A model while the harness leads: it is sent one question, and what it proposes becomes an action."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from agent.model.protocol import Delta, Model, Reply, Request, TextDelta, Usage, UserMessage, compute_price
from packages.offline.lead.led_work import LedWork
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Action

_BLOCK = compile_lazily(r"^```\w*\n.*\n```", re.DOTALL | re.MULTILINE)
"""A whole code block: with it a reply of the smallest models is over, what follows is rambling."""


class LedModel:
    """Another model, asked without tools and history. Implements `Model`.

    work: has the present question
    propose: returns the actions that a reply proposes, once what runs beside the model has ended
    warmth: temperature of the next request, None for the usual one
    seconds: that the next reply may take; one that takes longer is stopped, and proposes nothing
    """

    def __init__(
        self,
        model: Model,
        work: LedWork,
        propose: Callable[[str], Awaitable[tuple[Action, ...]]],
        warmth: Callable[[], float | None],
        seconds: Callable[[], float],
    ) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._work = work
        self._propose = propose
        self._warmth = warmth
        self._seconds = seconds

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        from agent.context.system_prompt import read_prompt

        sent = replace(
            request,
            system=read_prompt(self._work.instructions),
            shared=None,
            messages=[UserMessage(text=self._work.build_question())],
            tools=(),
            temperature=self._warmth(),
        )
        text = ""
        end = asyncio.get_running_loop().time() + self._seconds()
        async with aclosing(self.inner.stream(sent)) as stream:  # type: ignore[type-var]
            while True:
                try:
                    async with asyncio.timeout_at(end):
                        delta = await anext(stream)
                except TimeoutError:
                    yield Reply(text=text, stop="length")
                    return
                if isinstance(delta, TextDelta):
                    text += delta.text
                    yield delta
                    if self._work.asks_anew and "`" in delta.text and _BLOCK.search(text):
                        delta = Reply(text=text)
                if isinstance(delta, Reply):
                    actions = await self._propose(delta.text)
                    yield replace(delta, actions=actions, stop="actions") if actions else delta
                    return

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)
