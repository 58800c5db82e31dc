"""What the next call will cost, how long an answer the budget still pays for, and what is left of the limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.events import UsageRecord
from agent.model.protocol import Model, Request, Usage, compute_price
from agent.turn.limits import Limit, MaxCost, MaxSteps, MaxTime, MaxTokens, Tally

TYPICAL = 600
"""Tokens of an answer of which nothing is known yet: a few sentences and a call or two."""

LEAST = 256
"""Tokens of an answer below which a call is not worth its price."""

MARGIN = 1.08
"""What the estimate of input tokens may be too low by (docs/models.md says how near it comes)."""


def forecast_cost(model: Model, tokens: int, last: UsageRecord | None) -> float | None:
    """US dollars of a call with `tokens` of input and an answer like the last (LEAST or more); None if not known."""
    output = max(last.output, LEAST) if last is not None and last.output else TYPICAL
    return compute_price(
        model, Usage(input=int(tokens * MARGIN), cached=_estimate_cached_tokens(tokens, last), output=output)
    )


def estimate_partial_usage(model: Model, tokens: int, said: int, last: UsageRecord | None) -> Usage:
    """What a reply that broke off has used, as far as it can be told: servers bill it, and say how much at its end.

    tokens: of the request; said: of what came; 0 of that: the server may have done nothing yet
    """
    if not said:
        return Usage()
    usage = Usage(input=tokens, cached=_estimate_cached_tokens(tokens, last), output=said)
    return replace(usage, cost=compute_price(model, usage))


def compute_affordable_output(model: Model, tokens: int, last: UsageRecord | None, left: float) -> int | None:
    """Tokens of output that `left` dollars pay for beside the input, in whole steps of LEAST; None if not known."""
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
    """What is read from a cache again, if the last call read from it at all."""
    return min(tokens, last.cached) if last is not None else 0


class CostBudget:
    """Watches over --max-cost: before a step, what that will cost; in the request, how long its answer may be."""

    def __init__(
        self, limits: Sequence[Limit], model: Callable[[], Model], tokens: Callable[[], int]
    ) -> None:
        self._limits = limits
        self._model = model
        self._tokens = tokens

    @property
    def _cost_limit(self) -> float | None:
        return min((each.dollars for each in self._limits if isinstance(each, MaxCost)), default=None)

    def forecast_next_call(self, tally: Tally) -> None:
        """Put what the next call will cost into the tally. Without a limit on cost no price is looked up."""
        if self._cost_limit is not None:
            tally.next_cost = forecast_cost(self._model(), self._tokens(), tally.last)

    def compute_max_output(self, tally: Tally) -> int | None:
        """The longest answer that the limit still pays for; None if nothing says so."""
        if (most := self._cost_limit) is None:
            return None
        found = compute_affordable_output(
            self._model(), self._tokens(), tally.last, most - (tally.spent.cost or 0.0)
        )
        return None if found is None else max(found, LEAST)

    def complete_usage(self, usage: Usage, said: int, last: UsageRecord | None) -> Usage:
        """The usage of a reply; where a limit on cost holds and the server reports none, the estimate.

        said: tokens of the reply; last: what the last step used
        """
        if self._cost_limit is None or usage.cost is not None or usage.input:
            return usage
        estimate = estimate_partial_usage(self._model(), self._tokens(), said, last)
        return usage if estimate.cost is None else estimate

    def limit_output(self, request: Request, tally: Tally) -> Request:
        """The request, its answer bounded by what is left."""
        most = self.compute_max_output(tally)
        if most is None or (request.max_output is not None and request.max_output <= most):
            return request
        return replace(request, max_output=most) if most < _LONGEST else request


_LONGEST = 32_000
"""Tokens of output that no answer of a step passes: bounding it there would change the request for nothing."""


def describe_remaining_limits(limits: Sequence[Limit], tally: Tally) -> str:
    """What remains of the limits, for the model: "" while there is more than half of all that the user did not set.

    Agents that see their budget spend it better ("BATS", arXiv 2511.17006).
    """
    parts = [part for limit in limits if (part := _describe_remaining_limit(limit, tally))]
    return ", ".join(parts)


def _describe_remaining_limit(limit: Limit, tally: Tally) -> str:
    match limit:
        case MaxCost(dollars):
            return f"${max(dollars - (tally.spent.cost or 0.0), 0):.2f} of ${dollars:.2f}"
        case MaxTokens(tokens):
            used = tally.spent.input + tally.spent.output
            return f"{max(tokens - used, 0)} of {tokens} tokens"
        case MaxSteps(steps) if tally.steps * 2 >= steps:
            return f"{max(steps - tally.steps, 0)} of {steps} steps"
        case MaxTime(seconds) if (time.monotonic() - tally.started) * 2 >= seconds:
            gone = time.monotonic() - tally.started
            return f"{max(seconds - gone, 0) / 60:.0f} of {seconds / 60:.0f} minutes"
        case _:
            return ""
