"""Figures of one variant of a run, from its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from statistics import median

from packages.evaluation.runs.trial_result import CLAIMS, TrialResult
from packages.evaluation.statistics.intervals import (
    Interval,
    compute_bootstrap_interval,
    compute_wilson_interval,
)
from packages.evaluation.statistics.pass_rates import (
    Counts,
    average_pass_at_k,
    average_pass_hat_k,
    compute_cost_of_pass,
)
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyTask:
    """A task that a variant solved in some of its trials."""

    task: str
    solved: int
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRate:
    """Part of the tasks: those of a language, or with a tag."""

    name: str
    tasks: int
    trials: int
    solved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSummary:
    """Figures of a variant. Rates are of valid trials; None where nothing can be said.

    planned: trials of the run; trials: those with a valid result
    interval: of the rate, 95 %: Wilson's over the tasks where each was tried once or all rates are equal, over
        the trials of a single task; else a bootstrap over the tasks
    pass_at, pass_hat: pass@k and pass^k by k
    precision: share of the trials in which the agent claimed success that were solved
    score: mean, with partial credit; cost_of_pass: dollars for one solved trial; unpriced: trials of unknown cost
    tokens, seconds, steps: medians of a trial; total_cost: dollars of all trials, and of attempts that left no result,
        without those of the models that played users, which are user_cost
    tool_failure_rate: of the agent's own tool calls
    """

    label: str
    planned: int
    trials: int
    tasks: int
    solved: int
    rate: float | None
    interval: Interval | None
    pass_at: Mapping[int, float]
    pass_hat: Mapping[int, float]
    precision: float | None
    score: float | None
    total_cost: float
    user_cost: float
    unpriced: int
    cost_of_pass: float | None
    tokens: float | None
    seconds: float | None
    steps: float | None
    tool_failure_rate: float | None
    failures: Mapping[str, int]
    flaky: Sequence[FlakyTask]
    groups: Sequence[GroupRate]


def summarize_variant(
    label: str, planned: int, results: Iterable[TrialResult], *, seed: int = 0, lost_cost: float = 0.0
) -> VariantSummary:
    """Return the figures of a variant. seed: of its bootstrap; lost_cost: dollars of attempts that left no result"""
    valid = [each for each in results if each.is_valid]
    by_task = group_by_task(valid)
    counts = {task: count_solved(each) for task, each in by_task.items()}
    solved = sum(each.solved for each in valid)
    costs = [each.cost for each in valid if each.cost is not None]
    claimed = [each for each in valid if each.outcome in CLAIMS]
    calls = sum(each.tool_calls for each in valid)
    most = max((trials for trials, _ in counts.values()), default=0)
    return VariantSummary(
        label=label,
        planned=planned,
        trials=len(valid),
        tasks=len(by_task),
        solved=solved,
        rate=average_pass_at_k(list(counts.values()), 1),
        interval=_compute_interval(list(counts.values()), seed),
        pass_at=_collect_rates(average_pass_at_k(list(counts.values()), k) for k in range(1, most + 1)),
        pass_hat=_collect_rates(average_pass_hat_k(list(counts.values()), k) for k in range(1, most + 1)),
        precision=sum(each.solved for each in claimed) / len(claimed) if claimed else None,
        score=sum(each.score for each in valid) / len(valid) if valid else None,
        total_cost=sum(costs) + lost_cost,
        user_cost=sum(each.user_cost or 0.0 for each in valid),
        unpriced=len(valid) - len(costs),
        cost_of_pass=compute_cost_of_pass([*costs, lost_cost], solved) if len(costs) == len(valid) else None,
        tokens=median(each.tokens for each in valid) if valid else None,
        seconds=median(each.seconds for each in valid) if valid else None,
        steps=median(each.steps for each in valid) if valid else None,
        tool_failure_rate=sum(each.tool_failures for each in valid) / calls if calls else None,
        failures=dict(Counter(each.failure for each in valid if each.failure).most_common()),
        flaky=tuple(
            FlakyTask(task=task, solved=right, trials=trials)
            for task, (trials, right) in counts.items()
            if 0 < right < trials
        ),
        groups=_collect_groups(by_task),
    )


def group_by_task(results: Iterable[TrialResult]) -> dict[str, list[TrialResult]]:
    """Return results by task, in the order of their first appearance."""
    found: dict[str, list[TrialResult]] = {}
    for each in results:
        found.setdefault(each.task, []).append(each)
    return found


def count_solved(results: Sequence[TrialResult]) -> Counts:
    """Return how many results there are, and how many are solved."""
    return len(results), sum(each.solved for each in results)


def _compute_interval(counts: Sequence[Counts], seed: int) -> Interval | None:
    if not counts:
        return None
    if len(counts) == 1:
        return compute_wilson_interval(*counts[0])
    rates = [Fraction(solved, trials) for trials, solved in counts]
    if all(trials == 1 for trials, _ in counts):
        return compute_wilson_interval(len(counts), sum(solved for _, solved in counts))
    if len(set(rates)) == 1:  # a bootstrap of equal values has no width
        return compute_wilson_interval(len(counts), float(sum(rates)))
    return compute_bootstrap_interval([float(each) for each in rates], seed=seed)


def _collect_rates(rates: Iterable[float | None]) -> dict[int, float]:
    return {k: rate for k, rate in enumerate(rates, 1) if rate is not None}


def _collect_groups(by_task: Mapping[str, Sequence[TrialResult]]) -> tuple[GroupRate, ...]:
    """Return languages, then tags, where they split the tasks."""
    found: dict[str, list[Sequence[TrialResult]]] = {}
    for results in by_task.values():
        for name in (results[0].language, *results[0].tags):
            if name:
                found.setdefault(name, []).append(results)
    return tuple(
        GroupRate(
            name=name,
            tasks=len(tasks),
            trials=sum(map(len, tasks)),
            solved=sum(each.solved for results in tasks for each in results),
        )
        for name, tasks in sorted(found.items())
        if len(tasks) < len(by_task)
    )
