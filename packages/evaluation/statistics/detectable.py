"""The smallest difference that a comparison will probably find, known before it is run."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from packages.evaluation.statistics.paired_tests import compute_mcnemar_p


def compute_detectable_difference(
    tasks: int, trials: int, *, rate: float = 0.5, level: float = 0.05, power: float = 0.8
) -> float:
    """Return the difference of two solving rates that a paired test finds with this power; 1 if even all is not enough.

    rate: of solved trials around which both agents lie; a half is the worst case. Each trial counts as drawn anew, so
    that tasks which both agents always solve, or never, make the true figure smaller.
    The exact test permutes tasks: 1 with fewer of them than it needs on one side, however many trials they have, and
    never less than that share of them.
    """
    normal = NormalDist()
    reach = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)
    by_noise = reach * sqrt(2 * rate * (1 - rate) / (tasks * trials))
    fewest = next(count for count in range(1, 64) if compute_mcnemar_p(count, 0) < level)
    return min(1.0, max(by_noise, fewest / tasks))
