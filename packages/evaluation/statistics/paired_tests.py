"""Tests whether two agents differ that tried the same tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from math import comb, lcm

MOST_STATES = 4_000_000
"""Work for an exact distribution: values times sums, a few seconds; beyond it is drawn."""

DRAWS = 20_000
"""Of a drawn distribution: a p-value of 0.05 is then known to 0.003."""


def compute_mcnemar_p(gained: int, lost: int) -> float:
    """Return the two-sided exact p-value for pairs of which only one side is solved.

    gained, lost: pairs that only the second, or only the first, agent solved. Source: McNemar 1947; the distribution
    is binomial, not approximated.
    """
    total, fewer = gained + lost, min(gained, lost)
    if gained == lost:
        return 1.0
    return min(1.0, float(Fraction(2 * sum(comb(total, each) for each in range(fewer + 1)), 2**total)))


def compute_permutation_p(differences: Sequence[Fraction], *, seed: int = 0) -> float:
    """Return the two-sided p-value of the mean difference when each difference could as well have the other sign.

    differences: one for each task, as exact fractions. The distribution is exact as far as it is small enough
    (Fisher 1935, Pitman 1937), else drawn.
    """
    moved = [each for each in differences if each]
    if not moved:
        return 1.0
    scale = lcm(*(each.denominator for each in moved))
    weights = [abs(int(each * scale)) for each in moved]
    observed = abs(int(sum(moved) * scale))
    if len(weights) * sum(weights) > MOST_STATES:
        return _draw_permutations(weights, observed, seed)
    counts = {0: 1}
    for weight in weights:
        following: dict[int, int] = {}
        for value, count in counts.items():
            following[value + weight] = following.get(value + weight, 0) + count
            following[value - weight] = following.get(value - weight, 0) + count
        counts = following
    extreme = sum(count for value, count in counts.items() if abs(value) >= observed)
    return float(Fraction(extreme, 2 ** len(weights)))


def _draw_permutations(weights: Sequence[int], observed: int, seed: int) -> float:
    draw = random.Random(seed)
    extreme = 0
    for _ in range(DRAWS):
        signs = draw.getrandbits(len(weights))
        value = sum(weight if signs >> place & 1 else -weight for place, weight in enumerate(weights))
        extreme += abs(value) >= observed
    return (extreme + 1) / (DRAWS + 1)
