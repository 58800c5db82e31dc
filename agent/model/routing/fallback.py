"""A chain of models: the next one answers while the one before it cannot be reached.

A circuit breaker (Nygard, "Release It!", 2007) avoids waiting for a failed model at every step: it is skipped
for a while, twice as long after each further failure, and then tried once.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.model.protocol import (
    CutOff,
    Delta,
    Model,
    Reply,
    Request,
    TextDelta,
    Usage,
    change_call_form,
    compute_price,
    prepare_model,
)
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

REST = 60.0
"""Seconds that a model is skipped after its first failure; an outage of a provider lasts minutes."""

LONGEST_REST = 900.0

_PASSED_ON = frozenset({Fault.MODEL_UNREACHABLE, Fault.CREDENTIALS})
"""Failures that another provider does not share. A request refused for its content would be refused again."""


@dataclass(slots=True)
class _Link:
    """One model of the chain. retry_time: clock time of the next try; suspension: seconds of the last suspension"""

    make: Callable[[], Model]
    name: str
    model: Model | None = None
    retry_time: float = 0.0
    suspension: float = 0.0


class Fallback:
    """The first reachable model of a chain.

    others: (name, factory) of the models after the first, each created when it is first needed
    on_notice: receives one line on every change; clock: monotonic seconds
    """

    def __init__(
        self,
        first: Model,
        others: Sequence[tuple[str, Callable[[], Model]]],
        *,
        on_notice: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = first.name
        self.window = first.window
        self._links = [_Link(lambda: first, first.name, first)]
        self._links += [_Link(make, name) for name, make in others]
        self._on_notice = on_notice
        self._clock = clock
        self._answering = first.name

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Raises the last model's error when none can be reached."""
        failed: UserError | None = None
        for link in self._order_links():
            shown = False
            try:
                model = self._get_model(link)
                async with aclosing(self._stream_from(link, model, request)) as deltas:
                    async for delta in deltas:
                        shown = shown or isinstance(delta, TextDelta)
                        yield delta
                link.retry_time = link.suspension = 0.0
                return
            except UserError as error:
                if error.fault not in _PASSED_ON:
                    raise
                self._suspend_link(link)
                if shown or isinstance(error, CutOff):  # the agent loop continues with the next model
                    raise
                failed = error
                self._on_notice(f"{error.message}; {link.name} is left out for {link.suspension:.0f} s")
        assert failed is not None, "there is a first model"
        raise failed

    async def close(self) -> None:
        """See `Model.close`."""
        for link in self._links:
            if link.model is not None:
                await link.model.close()

    async def prepare(self) -> None:
        """See `prepare_model`; the later models are not created for it."""
        await prepare_model(self._links[0].model)
        self.window = getattr(self._links[0].model, "window", self.window)

    def change_form(self) -> str:
        """See `change_call_form`."""
        return change_call_form(self._order_links()[0].model)

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self._order_links()[0].model, usage)

    async def _stream_from(self, link: _Link, model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        self.window = model.window
        async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
            async for delta in stream:
                if isinstance(delta, Reply):
                    if link.name != self._answering:
                        self._answering = link.name
                        self._on_notice(f"{link.name} answers now")
                    self.window = model.window
                    delta = replace(delta, model=delta.model or link.name)
                yield delta

    def _order_links(self) -> list[_Link]:
        """Return the links that may be tried, in the order of the chain; if none, the one that is due first."""
        now = self._clock()
        ready = [link for link in self._links if link.retry_time <= now]
        return ready or [min(self._links, key=lambda link: link.retry_time)]

    def _get_model(self, link: _Link) -> Model:
        if link.model is None:
            link.model = link.make()
        return link.model

    def _suspend_link(self, link: _Link) -> None:
        link.suspension = min(max(REST, link.suspension * 2), LONGEST_REST)
        link.retry_time = self._clock() + link.suspension
