"""The gate that each request to a limited model passes, retries included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from agent.model.model_settings import RateLimitSettings
from agent.model.protocol import Usage
from agent.model.rate_limits.bucket_store import BucketStore, MachineBuckets
from agent.model.rate_limits.leased_buckets import LeasedBuckets, locate_leases
from agent.model.rate_limits.queue_pause import pause_clocks
from agent.model.rate_limits.token_bucket import Charge, RateLimit

_BYTES_PER_TOKEN = 4
"""Of a request before the first reply has shown how many there are."""

_LEAST_RATIO, _MOST_RATIO = 0.02, 5.0
"""Tokens that count for one that was estimated: a long prefix in the cache, a short request with a long reply."""

_WEIGHT = 0.5
"""Of the newest reply in the estimate of the next request."""

_TOLD_FROM = 1.0
"""Seconds of waiting from which on the person is told: shorter ones are the usual pace."""


class RateGate:
    """Lets requests to one model go as its limits allow.

    counts_cached: whether tokens that the provider reads from its cache count, too
    """

    def __init__(
        self, limits: Sequence[RateLimit], buckets: BucketStore, *, counts_cached: bool = True
    ) -> None:
        self._limits = tuple(limits)
        self._buckets = buckets
        self._counts_cached = counts_cached
        self._ratio = 1.0

    async def admit(self, size: int, on_notice: Callable[[str], None]) -> Admission:
        """Wait until a request of this size in bytes may be sent. A longer wait is told once, in one line.

        Clocks that `stop_clock_while_queued` names do not run meanwhile.
        """
        base = max(1, size // _BYTES_PER_TOKEN)
        charge = Charge(limits=self._limits, tokens=max(1, round(base * self._ratio)))
        waited, is_told = 0.0, False

        def tell(seconds: float) -> None:
            nonlocal waited, is_told
            if not waited:
                paused.enter_context(pause_clocks())
            waited += seconds
            if waited >= _TOLD_FROM and not is_told:
                is_told = True
                on_notice(f"{_describe(self._limits)}: the next call waits for its turn")

        with ExitStack() as paused:
            await self._buckets.take(charge, tell)
        return Admission(self, charge, base)

    def count(self, charge: Charge, base: int, usage: Usage) -> None:
        """Count the tokens of a finished request, and learn from them for the next one."""
        used = usage.input + usage.output - (0 if self._counts_cached else usage.cached)
        ratio = min(max(used / base, _LEAST_RATIO), _MOST_RATIO)
        self._ratio += (ratio - self._ratio) * _WEIGHT
        self._buckets.correct(charge, used - charge.tokens)

    def refund(self, charge: Charge) -> None:
        """Give back the tokens of a request that was refused; its call counts."""
        self._buckets.correct(charge, -charge.tokens)


class Admission:
    """A request that may be sent. Its end is told once; without one its estimate counts."""

    def __init__(self, gate: RateGate, charge: Charge, base: int) -> None:
        self._gate = gate
        self._charge = charge
        self._base = base

    def finish(self, usage: Usage) -> None:
        """Count the tokens used; without a report of the server the estimate holds."""
        if usage.input:
            self._gate.count(self._charge, self._base, usage)

    def refuse(self) -> None:
        """Count no tokens: the request had no answer."""
        self._gate.refund(self._charge)


def open_gate(
    names: Sequence[str],
    settings: Mapping[str, RateLimitSettings],
    cache_folder: Path,
    *,
    counts_cached: bool = True,
) -> RateGate | None:
    """Return the gate of a model; None if no limit has one of its names."""
    limits = [
        RateLimit(name=name, calls=settings[name].calls, tokens=settings[name].tokens)
        for name in dict.fromkeys(names)
        if name in settings
    ]
    return RateGate(limits, _open_buckets(cache_folder), counts_cached=counts_cached) if limits else None


@cache
def _open_buckets(cache_folder: Path) -> BucketStore:
    """Return the buckets of this machine, or on a node of a cluster those that it leases."""
    leases = locate_leases(cache_folder)
    return LeasedBuckets(leases) if leases.is_dir() else MachineBuckets(leases.parent)


def _describe(limits: Sequence[RateLimit]) -> str:
    told = []
    for each in limits:
        parts = [
            f"{each.calls:,} calls" if each.calls is not None else "",
            f"{each.tokens:,} tokens" if each.tokens is not None else "",
        ]
        told.append(f"{each.name} has {' and '.join(filter(None, parts))} a minute")
    return "; ".join(told)
