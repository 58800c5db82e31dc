"""Confidence intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

Interval = tuple[float, float]

RESAMPLES = 2_000
"""Of a bootstrap: the ends of a 95 % interval then vary by less than a tenth of its width."""


def compute_wilson_interval(trials: int, solved: float, level: float = 0.95) -> Interval:
    """Return the score interval of a proportion. Source: Wilson 1927. Raises ValueError without trials."""
    if not (trials > 0 and 0 <= solved <= trials):
        raise ValueError(f"no interval for {solved} of {trials}")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate, spread = solved / trials, z * z / trials
    center = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(rate * (1 - rate) / trials + spread / (4 * trials))
    # At the ends of the scale the formula is exact; rounding is not.
    return (0.0 if solved == 0 else center - half, 1.0 if solved == trials else center + half)


def compute_bootstrap_interval(
    values: Sequence[float], *, seed: int = 0, level: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """Return the percentile interval of a mean; each value is one task, so that its trials stay together.

    Source: Efron 1979. Raises ValueError without values.
    """
    if not values:
        raise ValueError("no interval without values")
    draw = random.Random(seed)
    count = len(values)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(resamples))
    return _interpolate(means, (1 - level) / 2), _interpolate(means, (1 + level) / 2)


def _interpolate(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, linearly between its neighbours."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
