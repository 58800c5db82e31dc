"""Token buckets: plain arithmetic of the calls and tokens of a minute, without a clock, a file or a process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.lazy_dataclass import dataclass

BURST = 20
"""Part of a limit that may be used at once, as a divisor: three seconds' worth."""

_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """A limit of a provider or a model, by its name. calls, tokens: a minute; None: no such limit"""

    name: str
    calls: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One call under all limits that concern it. tokens: estimate of those that it uses"""

    limits: tuple[RateLimit, ...]
    tokens: int

    def encode(self) -> dict[str, Any]:
        """Return its fields for JSON."""
        return asdict(self)


def decode_charge(fields: Any) -> Charge:
    """Return a charge from JSON. Raises TypeError, KeyError, AttributeError, OverflowError or ValueError."""
    limits = tuple(_decode_limit(each) for each in fields["limits"])
    return Charge(limits=limits, tokens=int(fields["tokens"]))


def _decode_limit(fields: Any) -> RateLimit:
    most = [number for name in ("calls", "tokens") if (number := fields.get(name)) is not None]
    if not isinstance(fields["name"], str) or any(type(number) is not int or number < 1 for number in most):
        raise ValueError(f"no limit: {fields!r}")
    return RateLimit(**fields)


class TokenBuckets:
    """A bucket of calls and one of tokens for each limit.

    A bucket fills steadily. Calls: no minute has more of them than the limit. Tokens: a call goes when its estimate, or
    a full bucket, is there; the rest is a debt that later calls wait for, and so is the difference to the tokens used.

    levels: by name of the limit: calls, tokens, and the time of the last change in seconds
    """

    def __init__(self, levels: Mapping[str, Sequence[float]] | None = None) -> None:
        self.levels = {name: list(each) for name, each in (levels or {}).items()}

    def take(self, charge: Charge, now: float) -> float:
        """Take a call from the buckets of all its limits, or nothing; return seconds to wait, 0.0 if it is taken."""
        wait = 0.0
        for limit in charge.limits:
            calls, tokens, _ = self._refill(limit, now)
            if limit.calls is not None:
                wait = max(wait, (1 - calls) / _compute_calls_rate(limit.calls))
            if limit.tokens is not None:
                needed = min(charge.tokens, _compute_burst(limit.tokens))
                wait = max(wait, (needed - tokens) / (limit.tokens / _MINUTE))
        if wait > _ROUNDING:
            return wait
        for limit in charge.limits:
            level = self.levels[limit.name]
            level[0] -= 1
            level[1] -= charge.tokens
        return 0.0

    def correct(self, charge: Charge, tokens: int, now: float) -> None:
        """Take tokens that a call has used beyond its estimate; below zero: give back those that it has not used."""
        for limit in charge.limits:
            self._refill(limit, now)[1] -= tokens

    def give_back(self, charge: Charge, now: float) -> None:
        """Give back a call that was taken and not sent."""
        for limit in charge.limits:
            level = self._refill(limit, now)
            level[0] += 1
            level[1] += charge.tokens

    def _refill(self, limit: RateLimit, now: float) -> list[float]:
        """Return the levels of a limit as of now. A clock that was set back adds nothing."""
        most_calls, most_tokens = _compute_burst(limit.calls or 0), _compute_burst(limit.tokens or 0)
        level = self.levels.get(limit.name)
        if level is None:
            level = self.levels[limit.name] = [most_calls, most_tokens, now]
        passed = max(0.0, now - level[2])
        calls_rate = 0.0 if limit.calls is None else _compute_calls_rate(limit.calls)
        level[:] = (
            min(most_calls, level[0] + passed * calls_rate),
            min(most_tokens, level[1] + passed * (limit.tokens or 0) / _MINUTE),
            now,
        )
        return level


_ROUNDING = 1e-6
"""Seconds that an exact wait may be short of by the rounding of numbers."""


def _compute_burst(most: int) -> float:
    return float(max(1, most // BURST))


def _compute_calls_rate(most: int) -> float:
    """Return calls a second with which a minute that begins with a burst has no more than `most`."""
    return (most - _compute_burst(most) + 1) / _MINUTE


def decode_levels(fields: Any) -> dict[str, list[float]]:
    """Return levels from JSON. Raises ValueError, TypeError or AttributeError for anything else."""
    levels = {str(name): [float(value) for value in each] for name, each in fields.items()}
    if any(len(each) != 3 or not all(map(math.isfinite, each)) for each in levels.values()):
        raise ValueError("not levels of buckets")
    return levels
