"""Comparison of two variants on the tasks that both tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

from packages.evaluation.analysis.run_summary import count_solved, group_by_task
from packages.evaluation.runs.trial_result import TrialResult
from packages.evaluation.statistics.detectable import compute_detectable_difference
from packages.evaluation.statistics.intervals import Interval, compute_bootstrap_interval
from packages.evaluation.statistics.paired_tests import compute_mcnemar_p, compute_permutation_p
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

Verdict = Literal["better", "worse", "no difference shown"]

LEVEL = 0.05
"""Significance level: one comparison of equals in twenty finds a difference that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The second of two variants against the first, by tasks of the same name and content.

    rates: of solved trials, first and second; interval: 95 % of the difference, a bootstrap over the tasks
    p_value: of the permutation test of task differences; gained, lost: pairs of trials (by number) that only the
        second, or only the first, solved; mcnemar_p: of these pairs, None unless each task was tried once
    detectable: difference that these tasks and trials would show with 80 % probability
    gained_tasks, lost_tasks: names of the tasks that the second solves more often, and less often
    left_out: names of the tasks of which one side has no valid result, or another content
    """

    first: str
    second: str
    tasks: int
    trials: tuple[int, int]
    rates: tuple[float, float]
    difference: float
    interval: Interval
    p_value: float
    gained: int
    lost: int
    mcnemar_p: float | None
    detectable: float
    gained_tasks: tuple[str, ...]
    lost_tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    costs: tuple[float, float] | None
    verdict: Verdict


def compare_results(
    first: str,
    second: str,
    before: Iterable[TrialResult],
    after: Iterable[TrialResult],
    *,
    seed: int = 0,
    level: float = LEVEL,
) -> Comparison:
    """Compare two variants. Raises UserError if they have no task in common. first, second: their names"""
    ones, twos = (group_by_task(each for each in side if each.is_valid) for side in (before, after))
    common = [task for task in ones if task in twos and ones[task][0].digest == twos[task][0].digest]
    if not common:
        raise UserError(
            Fault.USAGE,
            f"{first!r} and {second!r} have no task in common",
            "Run both on the same suite; a task that was changed is another one.",
        )
    rates = {task: (_rate(ones[task]), _rate(twos[task])) for task in common}
    differences = [after - before for before, after in rates.values()]
    p_value = compute_permutation_p(differences, seed=seed)
    difference = float(sum(differences) / len(differences))
    pairs = [pair for task in common for pair in _pair_trials(ones[task], twos[task])]
    gained, lost = pairs.count((False, True)), pairs.count((True, False))
    counts = [len(side[task]) for side in (ones, twos) for task in common]
    verdict: Verdict = "no difference shown"
    if p_value < level:
        verdict = "better" if difference > 0 else "worse"
    return Comparison(
        first=first,
        second=second,
        tasks=len(common),
        trials=(sum(len(ones[task]) for task in common), sum(len(twos[task]) for task in common)),
        rates=(_mean([one for one, _ in rates.values()]), _mean([two for _, two in rates.values()])),
        difference=difference,
        interval=compute_bootstrap_interval([float(each) for each in differences], seed=seed),
        p_value=p_value,
        gained=gained,
        lost=lost,
        mcnemar_p=compute_mcnemar_p(gained, lost) if max(counts) == 1 else None,
        detectable=compute_detectable_difference(len(common), max(1, min(counts)), level=level),
        gained_tasks=tuple(task for task, (one, two) in rates.items() if two > one),
        lost_tasks=tuple(task for task, (one, two) in rates.items() if two < one),
        left_out=tuple(sorted((ones.keys() | twos.keys()) - set(common))),
        costs=_sum_costs(
            [each for task in common for each in ones[task]], [each for task in common for each in twos[task]]
        ),
        verdict=verdict,
    )


def _rate(results: Sequence[TrialResult]) -> Fraction:
    trials, solved = count_solved(results)
    return Fraction(solved, trials)


def _mean(rates: Sequence[Fraction]) -> float:
    return float(sum(rates) / len(rates))


def _pair_trials(one: Sequence[TrialResult], two: Sequence[TrialResult]) -> list[tuple[bool, bool]]:
    """Return the solved trials of the same number."""
    others = {each.trial: each.solved for each in two}
    return [(each.solved, others[each.trial]) for each in one if each.trial in others]


def _sum_costs(one: Sequence[TrialResult], two: Sequence[TrialResult]) -> tuple[float, float] | None:
    """Return the mean cost of a trial on each side, None if a price is unknown."""
    sums = []
    for side in (one, two):
        costs = [each.cost for each in side if each.cost is not None]
        if len(costs) < len(side):
            return None
        sums.append(sum(costs) / len(side))
    return sums[0], sums[1]
