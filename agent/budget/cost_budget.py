"""Cost forecast of the next call, output tokens that the budget can pay for, and remaining limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.budget.limits import Limit, MaxCost, MaxSteps, MaxTime, MaxTokens, Tally
from agent.budget.purse import Amount, Purse
from agent.events import UsageRecord
from agent.model.protocol import Model, Request, Usage, compute_price
from agent.monitor.answers import GO_ON, GoOn, StopTurn, TurnEnd
from agent.monitor.monitor import Monitor

if TYPE_CHECKING:
    from agent.monitor.monitor import Turn

TYPICAL = 600
"""Assumed tokens of an answer before any is known: a few sentences and a call or two."""

LEAST = 256
"""Tokens of an answer below which a call is not worth its price."""

MARGIN = 1.08
"""Safety factor on estimated input tokens (docs/models.md reports the estimate's accuracy)."""


def forecast_cost(model: Model, tokens: int, last: UsageRecord | None) -> float | None:
    """Return the dollars of a call with `tokens` of input and an answer like the last (LEAST or more), if known."""
    output = max(last.output, LEAST) if last is not None and last.output else TYPICAL
    return compute_price(
        model, Usage(input=int(tokens * MARGIN), cached=_estimate_cached_tokens(tokens, last), output=output)
    )


def estimate_partial_usage(model: Model, tokens: int, said: int, last: UsageRecord | None) -> Usage:
    """Estimate the usage of an interrupted reply: servers bill it, but report usage only at its end.

    tokens: of the request; said: of the partial reply; 0: the server may not have started, so nothing is counted
    """
    if not said:
        return Usage()
    usage = Usage(input=tokens, cached=_estimate_cached_tokens(tokens, last), output=said)
    return replace(usage, cost=compute_price(model, usage))


def compute_affordable_output(model: Model, tokens: int, last: UsageRecord | None, left: float) -> int | None:
    """Return the output tokens that `left` dollars pay for after the input, a multiple of LEAST; None if unknown."""
    entry = compute_price(
        model, Usage(input=int(tokens * MARGIN), cached=_estimate_cached_tokens(tokens, last))
    )
    both = compute_price(
        model,
        Usage(input=int(tokens * MARGIN), cached=_estimate_cached_tokens(tokens, last), output=1_000_000),
    )
    if entry is None or both is None:
        return None
    per_token = (both - entry) / 1_000_000
    if per_token <= 0:
        return None
    return max(0, int((left - entry) / per_token)) // LEAST * LEAST


def _estimate_cached_tokens(tokens: int, last: UsageRecord | None) -> int:
    """Estimate the tokens read from the cache again, if the last call read any."""
    return min(tokens, last.cached) if last is not None else 0


class CostBudget(Monitor):
    """Enforces the limits: forecasts a step's cost before it, and limits the answer's length in the request."""

    def __init__(self, purse: Purse, model: Callable[[], Model], tokens: Callable[[], int]) -> None:
        self.purse = purse
        self._model = model
        self._tokens = tokens

    def before_step(self, turn: Turn) -> GoOn | StopTurn:
        """Reserve the next call's estimate, here and in the purses that pay for this turn, or stop."""
        self.purse.release()
        self.forecast_next_call()
        last = turn.tally.last_usage
        output = max(last.output, LEAST) if last is not None and last.output else TYPICAL
        tokens = int(self._tokens() * MARGIN) + output
        if reached := self.purse.reserve(Amount(dollars=self.purse.estimate_next_cost(), tokens=tokens)):
            return StopTurn(TurnEnd(reason="limit", detail=reached))
        return GO_ON

    def forecast_next_call(self) -> None:
        """Set the tally's forecast of the next call. Without a limit on cost no price is looked up."""
        if self.purse.has_cost_limit:
            tally = self.purse.tally
            tally.next_cost = forecast_cost(self._model(), self._tokens(), tally.last_usage)

    def compute_max_output(self) -> int | None:
        """Return the output tokens that the limits still pay for; None without a limit or a known price."""
        left = self.purse.compute_dollars_left()
        if left is None:
            return None
        found = compute_affordable_output(self._model(), self._tokens(), self.purse.tally.last_usage, left)
        return None if found is None else max(found, LEAST)

    def complete_usage(self, usage: Usage, said: int, last: UsageRecord | None) -> Usage:
        """Return the usage of a reply; the estimate where a limit on cost applies and the server reports none.

        said: tokens of the reply; last: usage of the last step
        """
        if not self.purse.has_cost_limit or usage.cost is not None or usage.input:
            return usage
        estimate = estimate_partial_usage(self._model(), self._tokens(), said, last)
        return usage if estimate.cost is None else estimate

    def limit_output(self, request: Request) -> Request:
        """Return the request with its answer limited by the remaining budget."""
        most = self.compute_max_output()
        if most is None or (request.max_output is not None and request.max_output <= most):
            return request
        return replace(request, max_output=most) if most < _LONGEST else request


_LONGEST = 32_000
"""Output tokens that no answer of a step exceeds: a limit above that would change the request for nothing."""


def describe_remaining_limits(limits: Sequence[Limit], tally: Tally) -> str:
    """Describe the remaining limits for the model; steps and time only once half of them is used.

    Agents that see their budget spend it better ("BATS", arXiv 2511.17006).
    """
    parts = [part for limit in limits if (part := _describe_remaining_limit(limit, tally))]
    return ", ".join(parts)


def _describe_remaining_limit(limit: Limit, tally: Tally) -> str:
    match limit:
        case MaxCost(dollars):
            return f"${max(dollars - (tally.usage.cost or 0.0), 0):.2f} of ${dollars:.2f}"
        case MaxTokens(tokens):
            used = tally.usage.input + tally.usage.output
            return f"{max(tokens - used, 0)} of {tokens} tokens"
        case MaxSteps(steps) if tally.steps * 2 >= steps:
            return f"{max(steps - tally.steps, 0)} of {steps} steps"
        case MaxTime(seconds) if (time.monotonic() - tally.start_time) * 2 >= seconds:
            gone = time.monotonic() - tally.start_time
            return f"{max(seconds - gone, 0) / 60:.0f} of {seconds / 60:.0f} minutes"
        case _:
            return ""
