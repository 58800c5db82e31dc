"""A relay: a strong model leads each turn, a cheaper one executes, the strong one takes over after failures.

"The collaboration gap" (arXiv 2511.02687) finds that a weak model does nearly as well as a strong one where
the strong one speaks first and hands over. The choice depends on the messages alone, so that a resumed or
replayed session asks the same model.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Message,
    Model,
    Reply,
    Request,
    ToolMessage,
    Usage,
    UserMessage,
    change_call_form,
    compute_price,
    prepare_model,
)

LEAD = 3
"""Replies per turn by the strong model: enough to explore, and to state the plan."""

FAILURES = 3
"""Failed actions in a row after which the strong model takes over."""

RECHECK = "The tests were run after your changes, and fail"
"""Start of the harness's message that returns a turn with failing tests: the other signal of failure."""


class PlannerExecutor:
    """Two models as one. strong, cheap: the leading and the executing one; on_notice: called when they change"""

    def __init__(
        self, strong: Model, cheap: Model, *, on_notice: Callable[[str], None] = lambda text: None
    ) -> None:
        self.name = cheap.name
        self.window = min(strong.window, cheap.window)
        self._strong = strong
        self._cheap = cheap
        self._on_notice = on_notice
        self._last = ""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        why = find_strong_model_reason(request.messages)
        model = self._strong if why else self._cheap
        if model.name != self._last:
            self._last = model.name
            self._on_notice(f"{model.name}: {why}" if why else f"{model.name} carries it out")
        async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
            async for delta in stream:
                if isinstance(delta, Reply):
                    self.window = min(self._strong.window, self._cheap.window)
                    delta = replace(delta, model=delta.model or model.name)
                yield delta

    async def prepare(self) -> None:
        """See `prepare_model`."""
        await prepare_model(self._strong)
        await prepare_model(self._cheap)
        self.window = min(self._strong.window, self._cheap.window)

    def change_form(self) -> str:
        """See `change_call_form`; that of the model which answered last."""
        return change_call_form(self._strong if self._last == self._strong.name else self._cheap)

    async def close(self) -> None:
        """See `Model.close`."""
        await self._strong.close()
        await self._cheap.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call of the dearer one, None if not known: the next model is not known here."""
        found = [
            each
            for each in (compute_price(self._strong, usage), compute_price(self._cheap, usage))
            if each is not None
        ]
        return max(found, default=None)


def find_strong_model_reason(messages: Sequence[Message]) -> str:
    """Return the reason for the strong model to answer next, "" for the cheap one. Considers the current turn only."""
    replies = failures = 0
    counting = True
    for message in reversed(messages):
        match message:
            case ToolMessage():
                counting = counting and message.failed
                failures += counting
            case AssistantMessage():
                replies += 1
            case UserMessage() if message.text.startswith(RECHECK):
                return "takes over, the tests fail"
            case UserMessage() if message.by_person:  # the turn begins here
                break
        if failures >= FAILURES:
            return f"takes over after {FAILURES} failed actions"
    return "leads" if replies < LEAD else ""
