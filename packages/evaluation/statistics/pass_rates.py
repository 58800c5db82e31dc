"""Rates of tasks solved by repeated trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

Counts = tuple[int, int]
"""Trials of a task, and how many of them solved it."""


def compute_pass_at_k(trials: int, solved: int, k: int) -> float:
    """Return the unbiased estimate that at least one of `k` trials solves a task.

    Source: Chen et al. 2021, Evaluating Large Language Models Trained on Code (HumanEval), equation 1.
    Raises ValueError for fewer trials than `k`.
    """
    _check(trials, solved, k)
    return 1.0 - comb(trials - solved, k) / comb(trials, k)


def compute_pass_hat_k(trials: int, solved: int, k: int) -> float:
    """Return the unbiased estimate that all of `k` trials solve a task: how reliable an agent is.

    Source: Yao et al. 2024, τ-bench, section 4 (pass^k). Raises ValueError for fewer trials than `k`.
    """
    _check(trials, solved, k)
    return comb(solved, k) / comb(trials, k)


def average_pass_at_k(tasks: Sequence[Counts], k: int) -> float | None:
    """Return pass@k over the tasks with at least `k` trials, None if there are none."""
    return _average([compute_pass_at_k(trials, solved, k) for trials, solved in tasks if trials >= k])


def average_pass_hat_k(tasks: Sequence[Counts], k: int) -> float | None:
    """Return pass^k over the tasks with at least `k` trials, None if there are none."""
    return _average([compute_pass_hat_k(trials, solved, k) for trials, solved in tasks if trials >= k])


def compute_cost_of_pass(costs: Sequence[float], solved: int) -> float | None:
    """Return the expected cost of one solved trial: mean cost by success rate; None if nothing was solved.

    Source: Wang et al. 2025, Efficient Agents; Erol et al. 2025, Cost-of-Pass.
    """
    return sum(costs) / solved if solved else None


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _check(trials: int, solved: int, k: int) -> None:
    if not (0 <= solved <= trials and 1 <= k <= trials):
        raise ValueError(f"no estimate of k = {k} from {solved} of {trials} trials")
